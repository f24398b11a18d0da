//! Parameters as text: on one line, as in C and in the playground (`queues = 4, window = 20, push_down = queue-bound,
//! queue_capacity_packets = [10, 20]`), and in JSON.

use pifolab_params::{Args, ParamError, Place, Table, Value};
use pifolab_sched::params::Info;
use serde_json::{Map, Value as Json};

/// The arguments in `text` for the scheduler or rank function that `info` describes.
pub fn arguments(info: &Info, text: &str) -> Result<Args, ParamError> {
    let mut args = Args::new(info.name);
    let fault = |key: &str, value: Option<&str>, expected: &str| ParamError {
        owner: info.name.to_owned(),
        key: key.to_owned(),
        value: value.map(str::to_owned),
        expected: expected.to_owned(),
    };
    let mut keys = Vec::new();
    for part in split(text) {
        let Some((key, written)) = part.split_once('=') else {
            return Err(fault(part, None, "expected key = value, separated by commas"));
        };
        let (key, written) = (key.trim(), written.trim());
        if keys.contains(&key) {
            return Err(fault(key, Some(written), "duplicate key"));
        }
        keys.push(key);
        let value = value(written).ok_or_else(|| {
            fault(key, Some(written), "expected a number, a word, true, false or a list such as [10, 20]")
        })?;
        args.set(key, value);
    }
    Ok(args)
}

/// The text that [`arguments`] parses to these arguments.
pub fn written(args: &Args) -> String {
    let keys: Vec<String> = args.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    keys.join(", ")
}

/// A value in JSON, in which an object is a scheduler inside another. `None` for null, which is no value.
pub fn value_of_json(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => return None,
        Json::Bool(flag) => Value::Flag(*flag),
        Json::Number(number) => number.as_i128().map_or_else(|| Value::Decimal(number.to_string()), Value::Integer),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(members) if !members.is_empty() && members.iter().all(Json::is_object) => {
            Value::Tables(members.iter().filter_map(Json::as_object).map(table_of_json).collect::<Option<_>>()?)
        }
        Json::Array(members) => Value::List(members.iter().map(value_of_json).collect::<Option<_>>()?),
        Json::Object(keys) => Value::Table(table_of_json(keys)?),
    })
}

fn table_of_json(keys: &Map<String, Json>) -> Option<Table> {
    let mut table = Table::new("", Place::File);
    for (key, value) in keys {
        table.put(key, Place::File, value_of_json(value)?);
    }
    Some(table)
}

/// The parts between commas and line ends that are neither inside brackets nor quoted; empty ones are left out.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0u32;
    let mut quoted = false;
    text.split(move |letter| {
        quoted ^= letter == '"';
        depth = match letter {
            '[' if !quoted => depth + 1,
            ']' if !quoted => depth.saturating_sub(1),
            _ => depth,
        };
        depth == 0 && !quoted && matches!(letter, ',' | '\n')
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

fn value(text: &str) -> Option<Value> {
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.strip_suffix(']')?.trim().trim_end_matches(',');
        if inner.contains(['[', ']']) {
            return None;
        }
        let members = inner.split(',').map(str::trim).filter(|_| !inner.is_empty());
        return members.map(value).collect::<Option<Vec<_>>>().map(Value::List);
    }
    if let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return (!inner.contains('"')).then(|| Value::Text(inner.to_owned()));
    }
    match text {
        "" => None,
        "true" => Some(Value::Flag(true)),
        "false" => Some(Value::Flag(false)),
        _ if text.contains(['"', '[', ']', '=']) => None,
        _ => Some(match text.parse() {
            Ok(integer) => Value::Integer(integer),
            Err(_) if text.parse::<f64>().is_ok_and(f64::is_finite) => Value::Decimal(text.to_owned()),
            Err(_) => Value::Text(text.to_owned()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_scheduler;

    fn args(text: &str) -> Result<Args, String> {
        arguments(find_scheduler("packs").unwrap().info, text).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_read_as_scenarios_read_them() {
        let mut expected = Args::new("packs");
        expected.set("queues", Value::Integer(2));
        expected.set("k", Value::Decimal("0.1".to_owned()));
        expected.set("queue_capacity_packets", Value::List([10, 20].map(Value::Integer).into()));
        expected.set("quantile", Value::Text("le".to_owned()));
        expected.set("fall_through", Value::Flag(false));
        let text = "queues=2, k = 0.1,\n queue_capacity_packets = [10, 20]\nquantile = \"le\", fall_through = false,";
        assert_eq!(args(&written(&expected)), Ok(expected.clone()));
        assert_eq!(args(text), Ok(expected));
        assert_eq!(args(""), Ok(Args::new("packs")));
    }

    #[test]
    fn a_quoted_text_may_hold_commas_and_brackets() {
        let args = arguments(find_scheduler("packs").unwrap().info, "a = \"rr[x, (y, 1)]\", b = 2").unwrap();
        let found: Vec<_> = args.iter().map(|(key, value)| (key, value.to_string())).collect();
        assert_eq!(found, [("a", "\"rr[x, (y, 1)]\"".to_owned()), ("b", "2".to_owned())]);
    }

    #[test]
    fn other_text_is_refused_with_its_key() {
        let refused = |text| args(text).unwrap_err();
        assert_eq!(refused("queues"), "packs: queues is missing: expected key = value, separated by commas");
        assert_eq!(refused("k = 1/10, k = 0"), "packs: k = 0: duplicate key");
        for bad in ["queues =", "queues = [1", "queues = [[1]]", "queues = 1 = 2", "quantile = \"l\"e\""] {
            assert!(refused(bad).contains("expected a number, a word"), "{bad}");
        }
    }
}
