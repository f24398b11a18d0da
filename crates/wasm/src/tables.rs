//! The registry's tables of schedulers for the page.

use pifolab_params::{Absent, Kind, Param};
use pifolab_registry::{SCHEDULERS, SchedulerEntry};
use serde_json::{Value, json};

/// Every scheduler with its parameters.
pub fn schedulers() -> Value {
    SCHEDULERS.iter().map(scheduler).collect()
}

fn scheduler(entry: &SchedulerEntry) -> Value {
    let info = entry.info;
    json!({
        "name": info.name,
        "label": entry.look.label,
        "colour": entry.look.colour,
        "summary": info.summary,
        "paper": info.paper,
        "effect": info.effect,
        "ideal": entry.traits.ideal,
        "params": info.params.iter().map(param).collect::<Value>(),
    })
}

fn param(param: &Param) -> Value {
    let field = match param.kind {
        Kind::Flag => "flag",
        Kind::Choice(_) | Kind::OneOf(..) => "choice",
        Kind::Integer { .. } => "integer",
        _ => "text",
    };
    let (low, high) = match param.kind {
        Kind::Integer { min, max } => (Some(min), Some(max)),
        _ => (None, None),
    };
    let default = match param.absent {
        Absent::Default(literal) => Some(literal.to_string()),
        _ => None,
    };
    json!({
        "name": param.name,
        "unit": param.unit,
        "field": field,
        "low": low,
        "high": high,
        "words": param.words(),
        "default": default,
        "required": matches!(param.absent, Absent::Required),
        "absent": param.absent.to_string(),
        "expected": param.expected(),
        "doc": param.doc,
    })
}
