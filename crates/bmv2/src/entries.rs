//! Entries of a control plane, as commands of `simple_switch_CLI`.

use crate::json::{Error, Number};
use crate::program::TableCode;
use crate::switch::Switch;
use crate::table::{Chosen, KeyPart, Match, Table, Wanted};

/// The known commands, for messages.
const COMMANDS: &str = "table_add, table_set_default, register_write, mirroring_add, mc_mgrp_create, mc_node_create, \
                        mc_node_associate or meter_set_rates";

/// Executes each line of `text`. Blank lines and lines that begin with `#` are ignored.
///
/// # Errors
/// The first line that is unknown or does not fit the program.
pub fn configure(switch: &mut Switch, text: &str) -> Result<(), Error> {
    let mut replication = Replication::default();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first().is_none_or(|word| word.starts_with('#')) {
            continue;
        }
        command(switch, &words, &mut replication)
            .map_err(|problem| Error::new(format!("line {}", index + 1), problem))?;
    }
    Ok(())
}

/// Nodes of multicast trees, which are created first and then added to groups.
#[derive(Default)]
struct Replication {
    nodes: Vec<(u32, Vec<u32>)>,
    groups: Vec<(u32, Vec<usize>)>,
}

fn integer(text: &str, most: u64) -> Result<u64, String> {
    let number = Number::parse(text).and_then(|number| number.small()).and_then(|value| u64::try_from(value).ok());
    number.filter(|&value| value <= most).ok_or_else(|| format!("{text}: expected an integer from 0 to {most}"))
}

fn word(text: &str) -> Result<u32, String> {
    integer(text, u64::from(u32::MAX)).map(|value| value as u32)
}

fn command(switch: &mut Switch, words: &[&str], replication: &mut Replication) -> Result<(), String> {
    match words {
        ["table_add", table, action, rest @ ..] => table_add(switch, table, action, rest),
        ["table_set_default", table, action, arguments @ ..] => {
            let number = find(switch, table)?;
            let (program, tables) = switch.tables_mut();
            let code = &program.table_code[number];
            tables[number].default = chosen(code, action, arguments)?;
            Ok(())
        }
        ["register_write", name, index, value] => {
            let (index, value) = (integer(index, u64::MAX)?, integer(value, u64::MAX)?);
            switch.set_register(name, index, value).map_err(|error| error.to_string())
        }
        ["mirroring_add", session, port] => {
            switch.set_session(word(session)?, vec![(word(port)?, 0)]);
            Ok(())
        }
        ["mc_mgrp_create", group] => {
            replication.groups.push((word(group)?, Vec::new()));
            Ok(())
        }
        ["mc_node_create", replica, ports @ ..] => {
            let ports = ports.iter().map(|port| word(port)).collect::<Result<_, _>>()?;
            replication.nodes.push((word(replica)?, ports));
            Ok(())
        }
        ["mc_node_associate", group, node] => {
            let (number, node) = (word(group)?, integer(node, u64::MAX)? as usize);
            if node >= replication.nodes.len() {
                return Err(format!("{node}: no such node; {} were created", replication.nodes.len()));
            }
            let Some((_, members)) = replication.groups.iter_mut().find(|(group, _)| *group == number) else {
                return Err(format!("{number}: no such group; mc_mgrp_create makes one"));
            };
            members.push(node);
            let copies = members.iter().map(|&node| &replication.nodes[node]);
            let ports = copies.flat_map(|(replica, ports)| ports.iter().map(move |&port| (port, *replica))).collect();
            switch.set_group(number, ports);
            Ok(())
        }
        ["meter_set_rates", name, index, rates @ ..] => {
            let read = |text: &&str| -> Result<(f64, f64), String> {
                let wrong = || format!("{text}: expected RATE:BURST, the rate in units per microsecond");
                let (rate, burst) = text.split_once(':').ok_or_else(wrong)?;
                let parse = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
                Ok((parse(rate).ok_or_else(wrong)? * 1e6, parse(burst).ok_or_else(wrong)?))
            };
            let [committed, peak] = rates else { return Err("expected two rates, RATE:BURST RATE:BURST".to_owned()) };
            let rates = [read(committed)?, read(peak)?];
            switch.set_meter(name, integer(index, u64::MAX)?, rates).map_err(|error| error.to_string())
        }
        _ => Err(format!("{}: expected {COMMANDS}, with its arguments", words.join(" "))),
    }
}

/// The table with this name, or the only one whose name ends with it.
fn find(switch: &mut Switch, name: &str) -> Result<usize, String> {
    let (_, tables) = switch.tables_mut();
    if let Some(exact) = tables.iter().position(|table| table.name == name) {
        return Ok(exact);
    }
    let ends = |table: &Table| table.name.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
    let found: Vec<usize> = (0..tables.len()).filter(|&number| ends(&tables[number])).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        _ => {
            let names = tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(", ");
            Err(format!("{name}: expected the name of a table: {names}"))
        }
    }
}

fn chosen(code: &TableCode, action: &str, arguments: &[&str]) -> Result<Chosen, String> {
    let exact = code.actions.iter().position(|name| name == action);
    let ends = |name: &String| name.strip_suffix(action).is_some_and(|before| before.ends_with('.'));
    let Some(ordinal) = exact.or_else(|| code.actions.iter().position(ends)) else {
        return Err(format!("{action}: expected an action of the table: {}", code.actions.join(", ")));
    };
    let parameters = &code.parameters[ordinal];
    if arguments.len() != parameters.len() {
        return Err(format!("{action}: {} arguments: expected {}", arguments.len(), parameters.len()));
    }
    let mut limbs = Vec::new();
    for (parameter, text) in parameters.iter().zip(arguments) {
        limbs.extend(value(text, parameter.bits)?.two_complement(parameter.bits.div_ceil(64) as usize));
    }
    Ok(Chosen { action: ordinal as u32, arguments: limbs })
}

/// A number, an IPv4 address or a MAC address of at most `bits` bits.
pub(crate) fn value(text: &str, bits: u32) -> Result<Number, String> {
    let wrong = || format!("{text}: expected a value of at most {bits} bits");
    let split = |separator, radix| -> Option<Number> {
        let bytes: Option<Vec<u8>> = text.split(separator).map(|part| u8::from_str_radix(part, radix).ok()).collect();
        Some(Number::from_bytes(&bytes?))
    };
    let number = if text.matches('.').count() == 3 {
        split('.', 10)
    } else if text.matches(':').count() == 5 {
        split(':', 16)
    } else if let Ok(address) = text.parse::<std::net::Ipv6Addr>() {
        Some(Number::from_bytes(&address.octets()))
    } else {
        Number::parse(text)
    };
    number.filter(|number| number.bits() <= bits).ok_or_else(wrong)
}

fn wanted(part: &KeyPart, text: &str) -> Result<Wanted, String> {
    let split = |separator: &str, form: &str| {
        text.split_once(separator).ok_or_else(|| format!("{text}: expected {form} for {}", part.name))
    };
    Ok(match part.how {
        Match::Exact => Wanted::Exact(value(text, part.bits)?),
        Match::Lpm => {
            let (address, length) = split("/", "VALUE/LENGTH")?;
            Wanted::Prefix(value(address, part.bits)?, integer(length, u64::from(part.bits))? as u32)
        }
        Match::Ternary => {
            let (number, mask) = split("&&&", "VALUE&&&MASK")?;
            Wanted::Masked(value(number, part.bits)?, value(mask, part.bits)?)
        }
        Match::Range => {
            let (low, high) = split("->", "LOW->HIGH")?;
            Wanted::Between(value(low, part.bits)?, value(high, part.bits)?)
        }
    })
}

/// `table_add TABLE ACTION KEY... => ARGUMENT... PRIORITY`; the priority only for tables in which the order of entries
/// decides.
fn table_add(switch: &mut Switch, table: &str, action: &str, rest: &[&str]) -> Result<(), String> {
    let number = find(switch, table)?;
    let (program, tables) = switch.tables_mut();
    let (code, table) = (&program.table_code[number], &mut tables[number]);
    if code.is_const {
        return Err(format!("{}: its entries are constant", table.name));
    }
    let arrow = rest.iter().position(|&word| word == "=>");
    let (keys, mut arguments) = match arrow {
        Some(arrow) => (&rest[..arrow], &rest[arrow + 1..]),
        None => (rest, &[][..]),
    };
    if keys.len() != table.key.len() {
        return Err(format!("{}: {} parts of a key: expected {}", table.name, keys.len(), table.key.len()));
    }
    let mut priority = 0;
    if table.ordered {
        let Some((last, others)) = arguments.split_last() else {
            return Err(format!("{}: expected a priority at the end", table.name));
        };
        (priority, arguments) = (integer(last, u64::MAX)?, others);
    }
    let wanted = table.key.iter().zip(keys).map(|(part, text)| wanted(part, text)).collect::<Result<Vec<_>, _>>()?;
    let chosen = chosen(code, action, arguments)?;
    table.add(&wanted, priority, chosen)
}
