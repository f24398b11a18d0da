//! The JSON Schema of scenarios, for editors: made from the same tables that validation reads.

use crate::registry::tree::CHILD_KEYS;
use crate::registry::{RANKS, SCHEDULERS};
use crate::spec::network_fields::NETWORK;
use crate::spec::one_link_fields::TOP;
use crate::spec::workload::DISTRIBUTION;
use pifolab_params::{Absent, Kind, Param, Role, Word};
use pifolab_sched::params::Info;
use serde_json::{Map, Value as Json, json};

/// The JSON Schema (draft 2020-12) of a scenario: on a network if it has a topology, on one link otherwise.
///
/// Editors with a TOML language server complete and check keys with it. It accepts slightly more than validation, which
/// also checks which keys have an effect together.
pub fn schema() -> Json {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pifolab scenario",
        "$defs": {
            "distribution": { "anyOf": [distribution_names(), object(DISTRIBUTION)] },
            "child": { "anyOf": SCHEDULERS.iter().map(|entry| built(entry.info, CHILD_KEYS)).collect::<Vec<_>>() },
        },
        "if": { "required": ["topology"] },
        "then": object(NETWORK),
        "else": object(TOP),
    })
}

/// A table with only these keys; if keys depend on the word of a choice, one such table for each word.
fn object(fields: &[Param]) -> Json {
    match fields.iter().find(|field| !field.cases().is_empty()) {
        None => closed(fields.iter(), &[]),
        Some(choice) => {
            let members = choice.cases().iter().map(|(word, params)| {
                let meaning = choice.words().iter().find(|(known, _)| known == word).map_or("", |(_, meaning)| meaning);
                let constant = (choice.name, json!({"const": word, "description": meaning}));
                closed(fields.iter().filter(|field| field.name != choice.name).chain(*params), &[constant])
            });
            json!({"anyOf": members.collect::<Vec<_>>()})
        }
    }
}

fn closed<'a>(fields: impl Iterator<Item = &'a Param>, constants: &[(&str, Json)]) -> Json {
    let mut properties: Map<_, _> = constants.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let mut required: Vec<_> = constants.iter().map(|(key, _)| json!(key)).collect();
    for field in fields {
        let keys = field.keys();
        // Keys with several spellings, and keys required only beside others, are left to validation.
        if keys.len() == 1 && matches!(field.absent, Absent::Required) && always_required(field) {
            required.push(json!(field.name));
        }
        for key in keys {
            // A time or a rate whose key has no unit has its unit in the value.
            let is_text = key == field.name && matches!(field.kind, Kind::Time | Kind::Rate);
            let value = if is_text { described(json!({"type": "string"}), field) } else { property(field) };
            properties.insert(key, value);
        }
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The values of a key, and its description.
fn property(field: &Param) -> Json {
    described(value(&field.kind), field)
}

fn described(mut property: Json, field: &Param) -> Json {
    let absence = match field.absent {
        Absent::Default(literal) => format!("Default: {literal}."),
        absent => absent.meaning().map_or_else(String::new, |meaning| format!("If absent: {meaning}.")),
    };
    if let Json::Object(property) = &mut property {
        property.insert("description".to_owned(), json!(format!("{} {absence}", field.doc).trim_end()));
    }
    property
}

/// Tables are always required; other keys may depend on a choice.
fn always_required(field: &Param) -> bool {
    matches!(field.kind, Kind::Table(_) | Kind::Tables(_) | Kind::Components(_))
}

fn integer(min: impl Into<Json>, max: u64) -> Json {
    json!({"type": "integer", "minimum": min.into(), "maximum": max})
}

fn value(kind: &Kind) -> Json {
    match kind {
        Kind::Integer { min: i64::MIN, .. } => json!({"type": "integer"}),
        Kind::Integer { min, max } => integer(*min, *max),
        Kind::Integers { min, max } => json!({"type": "array", "items": integer(*min, *max)}),
        Kind::IntegerOrIntegers { min, max } => {
            json!({"anyOf": [integer(*min, *max), {"type": "array", "items": integer(*min, *max)}]})
        }
        Kind::Fraction => json!({"type": ["number", "string", "array"]}),
        Kind::Positive | Kind::Share => json!({"type": ["number", "string"]}),
        Kind::Time => json!({"type": "number", "minimum": 0}),
        Kind::Rate => json!({"type": "number", "exclusiveMinimum": 0}),
        Kind::Text => json!({"type": "string"}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        Kind::Values => {
            let one = json!({"type": ["integer", "string"]});
            json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
        }
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Choice(words) | Kind::OneOf(words, _) => choice(words),
        Kind::Distribution => json!({"$ref": "#/$defs/distribution"}),
        Kind::IntegerOrDistribution { min, max } => {
            json!({"anyOf": [integer(*min, *max), {"$ref": "#/$defs/distribution"}]})
        }
        Kind::Table(fields) => object(fields),
        Kind::Tables(fields) => json!({"anyOf": [object(fields), {"type": "array", "items": object(fields)}]}),
        Kind::Component(role) => component(*role, false),
        Kind::Components(role) => json!({"type": "array", "minItems": 1, "items": component(*role, true)}),
    }
}

fn component(role: Role, labelled: bool) -> Json {
    match role {
        Role::Scheduler => any_of(SCHEDULERS.iter().map(|entry| entry.info), labelled),
        Role::RankFunction => any_of(RANKS.iter().map(|entry| entry.info), labelled),
        Role::Controller => own(&[], labelled),
    }
}

fn choice(words: &[Word]) -> Json {
    let mut schema = json!({"enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>()});
    if words.iter().any(|(_, meaning)| !meaning.is_empty()) {
        // Not in the standard; editors show it beside each word.
        schema["enumDescriptions"] = words.iter().map(|(_, meaning)| *meaning).collect();
    }
    schema
}

fn distribution_names() -> Json {
    let field = DISTRIBUTION.iter().find(|field| field.name == "distribution");
    field.map_or(Json::Null, |field| choice(field.words()))
}

/// One of the library's, or a class that a user wrote in Python.
fn any_of<'a>(library: impl Iterator<Item = &'a Info>, labelled: bool) -> Json {
    let library: Vec<_> = library.collect();
    let names: Vec<_> = library.iter().map(|info| info.name).collect();
    let member = |info| {
        let mut member = built(info, &[]);
        if labelled {
            member["properties"]["label"] = label();
        }
        member
    };
    let mut members: Vec<_> = library.into_iter().map(member).collect();
    members.push(own(&names, labelled));
    json!({"anyOf": members})
}

/// A class that a user wrote in Python, under any name but those that are `taken`, with any parameters.
fn own(taken: &[&str], labelled: bool) -> Json {
    let doc = "The name of a class of your own, as pifolab run --python or pifolab.run knows it.";
    let mut name = json!({"type": "string", "description": doc});
    if !taken.is_empty() {
        name["not"] = json!({"enum": taken});
    }
    let mut properties = Map::from_iter([("name".to_owned(), name)]);
    if labelled {
        properties.insert("label".to_owned(), label());
    }
    json!({"type": "object", "properties": properties, "required": ["name"]})
}

fn label() -> Json {
    json!({"type": "string", "description": "What tables and figures call it. If absent: its name."})
}

/// A scheduler or a rank function with its parameters, and with `more` keys where it is inside another one.
fn built(info: &Info, more: &[Param]) -> Json {
    let mut properties =
        Map::from_iter([("name".to_owned(), json!({"const": info.name, "description": info.summary}))]);
    let mut required = vec![json!("name")];
    // A key of the component replaces the key of the same name that any child may have.
    for param in more.iter().chain(info.params) {
        if let Absent::Required = param.absent {
            required.push(json!(param.name));
        }
        // Schedulers inside others may contain others in turn.
        let value = match param.kind {
            Kind::Component(Role::Scheduler) => json!({"$ref": "#/$defs/child"}),
            Kind::Components(Role::Scheduler) => {
                json!({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/child"}})
            }
            kind => value(&kind),
        };
        properties.insert(param.name.to_owned(), described(value, param));
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_knows_every_key_scheduler_and_parameter() {
        let schema = schema();
        let properties = &schema["else"]["properties"];
        assert_eq!(properties["duration_s"]["type"], "number");
        assert!(properties["link"]["properties"]["rate_gbps"].is_object());
        assert_eq!(schema["else"]["required"], json!(["link", "workload", "scheduler"]));
        let members = properties["scheduler"]["items"]["anyOf"].as_array().unwrap();
        assert_eq!(members.len(), SCHEDULERS.len() + 1);
        let own = &members[SCHEDULERS.len()]["properties"]["name"]["not"]["enum"];
        assert_eq!(own[0], SCHEDULERS[0].info.name, "one of the user's own may have any other name");
        for (member, entry) in members.iter().zip(SCHEDULERS) {
            assert_eq!(member["properties"]["name"]["const"], entry.info.name);
            for param in entry.info.params {
                assert!(member["properties"][param.name]["description"].is_string(), "{}", param.name);
            }
        }
        let network = &schema["then"];
        assert!(network["properties"]["topology"]["anyOf"][0]["properties"]["access_rate_gbps"].is_object());
        assert_eq!(network["required"], json!(["topology", "transport", "workload", "scheduler"]));
        let of_transport = |name: &str| {
            let cases = network["properties"]["transport"]["anyOf"].as_array().unwrap();
            let case = cases.iter().find(|case| case["properties"]["name"]["const"] == name).unwrap();
            case["properties"].as_object().unwrap().clone()
        };
        let (udp, dctcp) = (of_transport("udp"), of_transport("dctcp"));
        assert!(udp.contains_key("payload_bytes") && !udp.contains_key("mss_bytes"));
        assert!(dctcp.contains_key("gain") && dctcp.contains_key("min_rto_us") && !dctcp.contains_key("ecn"));
        assert_eq!(properties["rank"]["anyOf"].as_array().unwrap().len(), RANKS.len() + 1);
        assert!(schema["$defs"]["distribution"]["anyOf"][0]["enum"].as_array().unwrap().contains(&json!("convex")));
    }
}
