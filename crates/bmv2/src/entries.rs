//! Entries of a control plane, as commands of `simple_switch_CLI`.

use crate::json::{Error, Number};
use crate::program::TableCode;
use crate::switch::{Members, Switch};
use crate::table::{Call, KeyPart, Match, Outcome, Table, Wanted};

/// The known commands, for messages.
const COMMANDS: &str = "table_add, table_set_default, act_prof_create_member, act_prof_create_group, \
                        act_prof_add_member_to_group, table_indirect_add, table_indirect_add_with_group, \
                        table_indirect_set_default, table_indirect_set_default_with_group, pvs_add, register_write, \
                        mirroring_add, mc_mgrp_create, mc_node_create, mc_node_associate or meter_set_rates";

/// Executes each line of `text`. Blank lines and lines that begin with `#` are ignored.
///
/// # Errors
/// The first line that is unknown or does not fit the program.
pub fn configure(switch: &mut Switch, text: &str) -> Result<(), Error> {
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first().is_none_or(|word| word.starts_with('#')) {
            continue;
        }
        command(switch, &words).map_err(|problem| Error::new(format!("line {}", index + 1), problem))?;
    }
    Ok(())
}

fn integer(text: &str, most: u64) -> Result<u64, String> {
    let number = Number::parse(text).and_then(|number| number.small()).and_then(|value| u64::try_from(value).ok());
    number.filter(|&value| value <= most).ok_or_else(|| format!("{text}: expected an integer from 0 to {most}"))
}

fn word(text: &str) -> Result<u32, String> {
    integer(text, u64::from(u32::MAX)).map(|value| value as u32)
}

fn command(switch: &mut Switch, words: &[&str]) -> Result<(), String> {
    match words {
        ["table_add", table, action, rest @ ..] => table_add(switch, table, action, rest),
        ["table_set_default", table, action, arguments @ ..] => {
            let number = find(switch, table)?;
            let (program, tables) = switch.tables_mut();
            let code = &program.table_code[number];
            direct(code, table)?;
            tables[number].default = Outcome::Call(call(code, action, arguments)?);
            Ok(())
        }
        ["act_prof_create_member", profile, action, arguments @ ..] => {
            let number = switch.program().profile(profile)?;
            let mut tables = switch.program().table_code.iter();
            let Some(code) = tables.find(|code| code.profile == Some(number)) else {
                return Err(format!("{profile}: no table has this action profile"));
            };
            let call = call(code, action, arguments)?;
            let member = (code.numbers[call.action], call.arguments);
            switch.members(number).members.push(member);
            Ok(())
        }
        ["act_prof_create_group", profile] => {
            let number = switch.program().profile(profile)?;
            switch.members(number).groups.push(Vec::new());
            Ok(())
        }
        ["act_prof_add_member_to_group", profile, member, group] => {
            let number = switch.program().profile(profile)?;
            let members = switch.members(number);
            let (member, group) = (known(member, members.members.len())?, known(group, members.groups.len())?);
            let group = &mut members.groups[group as usize];
            if group.contains(&member) {
                return Err(format!("{member}: it is in the group already"));
            }
            group.push(member);
            group.sort_unstable();
            Ok(())
        }
        ["table_indirect_add", table, rest @ ..] => indirect_add(switch, table, Outcome::Member, rest),
        ["table_indirect_add_with_group", table, rest @ ..] => indirect_add(switch, table, Outcome::Group, rest),
        ["table_indirect_set_default", table, handle] => indirect_default(switch, table, Outcome::Member, handle),
        ["table_indirect_set_default_with_group", table, handle] => {
            indirect_default(switch, table, Outcome::Group, handle)
        }
        ["pvs_add", set, value] => switch.add_to_set(set, value),
        ["register_write", name, index, value] => {
            let (index, value) = (integer(index, u64::MAX)?, integer(value, u64::MAX)?);
            switch.set_register(name, index, value).map_err(|error| error.to_string())
        }
        ["mirroring_add", session, port] => {
            switch.set_session(word(session)?, vec![(word(port)?, 0)]);
            Ok(())
        }
        ["mc_mgrp_create", group] => {
            switch.replication.groups.push((word(group)?, Vec::new()));
            Ok(())
        }
        ["mc_node_create", replica, ports @ ..] => {
            let ports = ports.iter().map(|port| word(port)).collect::<Result<_, _>>()?;
            switch.replication.nodes.push((word(replica)?, ports));
            Ok(())
        }
        ["mc_node_associate", group, node] => {
            let (number, node) = (word(group)?, integer(node, u64::MAX)? as usize);
            let replication = &mut switch.replication;
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

fn call(code: &TableCode, action: &str, arguments: &[&str]) -> Result<Call, String> {
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
        limbs.extend(Number::of_text(text, parameter.bits)?.two_complement(parameter.bits.div_ceil(64) as usize));
    }
    Ok(Call { action: ordinal, arguments: limbs })
}

fn wanted(part: &KeyPart, text: &str) -> Result<Wanted, String> {
    let split = |separator: &str, form: &str| {
        text.split_once(separator).ok_or_else(|| format!("{text}: expected {form} for {}", part.name))
    };
    Ok(match part.how {
        Match::Exact => Wanted::Exact(Number::of_text(text, part.bits)?),
        Match::Lpm => {
            let (address, length) = split("/", "VALUE/LENGTH")?;
            Wanted::Prefix(Number::of_text(address, part.bits)?, integer(length, u64::from(part.bits))? as u32)
        }
        Match::Ternary => {
            let (number, mask) = split("&&&", "VALUE&&&MASK")?;
            Wanted::Masked(Number::of_text(number, part.bits)?, Number::of_text(mask, part.bits)?)
        }
        Match::Range => {
            let (low, high) = split("->", "LOW->HIGH")?;
            Wanted::Between(Number::of_text(low, part.bits)?, Number::of_text(high, part.bits)?)
        }
    })
}

/// `table_add TABLE ACTION KEY... => ARGUMENT... PRIORITY`; the priority only for tables in which the order of entries
/// decides.
fn table_add(switch: &mut Switch, table: &str, action: &str, rest: &[&str]) -> Result<(), String> {
    let number = find(switch, table)?;
    let (program, tables) = switch.tables_mut();
    let (code, table) = (&program.table_code[number], &mut tables[number]);
    direct(code, &table.name)?;
    if code.is_const {
        return Err(format!("{}: its entries are constant", table.name));
    }
    let (wanted, arguments, priority) = row(table, rest)?;
    let call = call(code, action, arguments)?;
    table.add(&wanted, priority, Outcome::Call(call))
}

/// `table_indirect_add TABLE KEY... => MEMBER PRIORITY`, or the same with a group.
fn indirect_add(switch: &mut Switch, table: &str, outcome: fn(u64) -> Outcome, rest: &[&str]) -> Result<(), String> {
    let number = find(switch, table)?;
    let (_, handles, _) = row(&switch.tables_mut().1[number], rest)?;
    let [handle] = handles else { return Err(format!("{table}: expected one handle behind =>")) };
    let outcome = indirect(switch, number, outcome, handle)?;
    let table = &mut switch.tables_mut().1[number];
    let (wanted, _, priority) = row(table, rest)?;
    table.add(&wanted, priority, outcome)
}

fn indirect_default(switch: &mut Switch, table: &str, outcome: fn(u64) -> Outcome, handle: &str) -> Result<(), String> {
    let number = find(switch, table)?;
    let outcome = indirect(switch, number, outcome, handle)?;
    switch.tables_mut().1[number].default = outcome;
    Ok(())
}

/// The member or the group of a table's action profile that `handle` names.
fn indirect(switch: &mut Switch, table: usize, outcome: fn(u64) -> Outcome, handle: &str) -> Result<Outcome, String> {
    let program = switch.program();
    let Some(profile) = program.table_code[table].profile else {
        return Err(format!("{}: it has no action profile; expected table_add", program.tables[table].name));
    };
    let Members { members, groups } = switch.members(profile);
    let is_group = outcome(0) == Outcome::Group(0);
    known(handle, if is_group { groups.len() } else { members.len() }).map(outcome)
}

/// Reads the number of a member or a group. Numbers begin with 0; `count` were created.
fn known(handle: &str, count: usize) -> Result<u64, String> {
    match integer(handle, u64::MAX)? {
        known if known < count as u64 => Ok(known),
        _ => Err(format!("{handle}: expected the number of one of the {count} that were created")),
    }
}

/// Refuses a table whose entries name members of an action profile.
fn direct(code: &TableCode, table: &str) -> Result<(), String> {
    if code.profile.is_some() {
        return Err(format!("{table}: it has an action profile; expected table_indirect_add"));
    }
    Ok(())
}

/// Reads `KEY... => ARGUMENT... PRIORITY`: the key's values, the arguments, and the priority.
fn row<'a>(table: &Table, rest: &'a [&'a str]) -> Result<(Vec<Wanted>, &'a [&'a str], u64), String> {
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
    Ok((wanted, arguments, priority))
}
