//! The JSON Schema of scenarios, for editors: made from the same tables that validation reads.

use crate::fields::{Absent, Field, What};
use crate::registry::{RANKS, SCHEDULERS};
use crate::spec::TOP;
use crate::spec::network_fields::NETWORK;
use crate::spec::workload::DISTRIBUTION;
use pifolab_sched::params::{self, Info, Kind, Param};
use serde_json::{Map, Value as Json, json};

/// The JSON Schema (draft 2020-12) of a scenario: on a network if it has a topology, on one link otherwise.
///
/// Editors with a TOML language server complete and check keys with it. It is a little more generous than validation,
/// which also knows which keys have an effect beside which.
pub fn schema() -> Json {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pifolab scenario",
        "$defs": { "distribution": { "anyOf": [distribution_names(), object(DISTRIBUTION)] } },
        "if": { "required": ["topology"] },
        "then": object(NETWORK),
        "else": object(TOP),
    })
}

/// A table with these keys and no others.
fn object(fields: &[Field]) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        let keys = field.keys();
        // Where several keys say the same, or a key is required only beside others, validation knows better.
        if keys.len() == 1 && matches!(field.absent, Absent::Required) && always_required(field) {
            required.push(json!(field.name));
        }
        for key in keys {
            let mut property = value(&field.what);
            if let Json::Object(property) = &mut property {
                property.insert("description".to_owned(), describe(field.doc, &absence(&field.absent)));
            }
            properties.insert(key, property);
        }
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Tables are required as such; other keys may depend on a choice beside them.
fn always_required(field: &Field) -> bool {
    matches!(field.what, What::Table(_) | What::Tables(_) | What::Schedulers)
        || (matches!(field.what, What::Choice(_)) && field.name == "distribution")
}

fn describe(doc: &str, absent: &str) -> Json {
    json!(format!("{doc} {absent}").trim_end())
}

fn absence(absent: &Absent) -> String {
    match absent {
        Absent::Default(text) => format!("Default: {text}."),
        Absent::Means(text) => format!("If absent: {text}."),
        Absent::Required => String::new(),
    }
}

fn integer(min: impl Into<Json>, max: u64) -> Json {
    json!({"type": "integer", "minimum": min.into(), "maximum": max})
}

fn value(what: &What) -> Json {
    match what {
        What::Integer(min, max) => integer(*min, *max),
        What::Signed => json!({"type": "integer"}),
        What::Integers(min, max) => json!({"type": "array", "items": integer(*min, *max), "minItems": 1}),
        What::Positive => json!({"type": ["number", "string"]}),
        What::Share => json!({"type": ["number", "string"]}),
        What::Time => json!({"type": "number", "minimum": 0}),
        What::Rate => json!({"type": "number", "exclusiveMinimum": 0}),
        What::Text => json!({"type": "string"}),
        What::Texts => json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        What::Flag => json!({"type": "boolean"}),
        What::Choice(words) => choice(words),
        What::Distribution => json!({"$ref": "#/$defs/distribution"}),
        What::IntegerOrDistribution(min, max) => {
            json!({"anyOf": [integer(*min, *max), {"$ref": "#/$defs/distribution"}]})
        }
        What::Table(fields) => object(fields),
        What::Tables(fields) => json!({"anyOf": [object(fields), {"type": "array", "items": object(fields)}]}),
        What::RankFunction => any_of(RANKS.iter().map(|entry| entry.info), false),
        What::Controller => own(&[], false),
        What::Scheduler => any_of(SCHEDULERS.iter().map(|entry| entry.info), false),
        What::Schedulers => {
            let members = any_of(SCHEDULERS.iter().map(|entry| entry.info), true);
            json!({"type": "array", "minItems": 1, "items": members})
        }
    }
}

fn choice(words: &[(&str, &str)]) -> Json {
    json!({"enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>()})
}

fn distribution_names() -> Json {
    let field = DISTRIBUTION.iter().find(|field| field.name == "distribution");
    field.map_or(Json::Null, |field| value(&field.what))
}

/// One of the library's, or one that a user wrote in Python.
fn any_of<'a>(library: impl Iterator<Item = &'a Info>, labelled: bool) -> Json {
    let library: Vec<_> = library.collect();
    let names: Vec<_> = library.iter().map(|info| info.name).collect();
    let mut members: Vec<_> = library.into_iter().map(|info| built(info, labelled)).collect();
    members.push(own(&names, labelled));
    json!({"anyOf": members})
}

/// What a user wrote in Python under any name but those that are `taken`; its parameters are its own affair.
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

/// A scheduler or a rank function with its parameters.
fn built(info: &Info, labelled: bool) -> Json {
    let mut properties =
        Map::from_iter([("name".to_owned(), json!({"const": info.name, "description": info.summary}))]);
    if labelled {
        properties.insert("label".to_owned(), label());
    }
    let mut required = vec![json!("name")];
    for param in info.params {
        let mut property = parameter(param);
        let absent = match param.absent {
            params::Absent::Default(text) => format!("Default: {text}."),
            params::Absent::Means(text) => format!("If absent: {text}."),
            params::Absent::Required => {
                required.push(json!(param.name));
                String::new()
            }
        };
        if let Json::Object(property) = &mut property {
            property.insert("description".to_owned(), describe(param.doc, &absent));
        }
        properties.insert(param.name.to_owned(), property);
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn parameter(param: &Param) -> Json {
    match param.kind {
        Kind::Integer { min, max } => integer(min, max),
        Kind::Fraction => json!({"type": ["number", "string", "array"]}),
        Kind::Choice(words) => choice(words),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Integers { min, max } => json!({"type": "array", "items": integer(min, max)}),
        Kind::IntegerOrIntegers { min, max } => {
            json!({"anyOf": [integer(min, max), {"type": "array", "items": integer(min, max)}]})
        }
    }
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
        assert!(network["properties"]["topology"]["properties"]["access_rate_gbps"].is_object());
        assert_eq!(network["required"], json!(["topology", "transport", "workload", "scheduler"]));
        assert_eq!(properties["rank"]["anyOf"].as_array().unwrap().len(), RANKS.len() + 1);
        assert!(schema["$defs"]["distribution"]["anyOf"][0]["enum"].as_array().unwrap().contains(&json!("convex")));
    }
}
