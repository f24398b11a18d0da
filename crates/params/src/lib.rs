//! Parameters from text, for schedulers, rank functions, transports and scenarios. Each range, default and word is
//! defined once. Validation, `pifolab show`, the JSON Schema, the Python keywords and the manifest read the same
//! definition.
//!
//! A table of parameters is a list of [`Param`]s. The user's input is a [`Table`] of [`Value`]s, each with its
//! [`Place`]. A row reads a value as the type that the caller requests ([`FromValue`]). The words of a choice are an
//! enum ([`choices!`](crate::choices)), so there is no second list of words.
//!
//! ```
//! use pifolab_params::{Args, Param, Value, choices};
//!
//! choices! {
//!     /// What leaves when the buffer is full.
//!     #[derive(Default)]
//!     pub enum Victim {
//!         /// The packet that arrives.
//!         #[default]
//!         Tail = "tail": "the packet that arrives is dropped",
//!         /// The packet that has waited longest.
//!         Head = "head": "the packet that has waited longest is dropped",
//!     }
//! }
//!
//! const DROP: Param = Param::choice::<Victim>("drop").or_word(Victim::Tail.word()).doc("What leaves if full.");
//! const QUEUES: Param = Param::integer("queues", 1, 64).or_integer(8).unit("queues");
//!
//! let mut args = Args::new("mine");
//! args.set("drop", Value::Text("head".into()));
//! assert_eq!(args.given::<Victim>(&DROP), Ok(Victim::Head));
//! assert_eq!(args.given::<u32>(&QUEUES), Ok(8));
//! args.set("drop", Value::Text("heat".into()));
//! let error = args.given::<Victim>(&DROP).unwrap_err();
//! assert_eq!(error.to_string(), "mine: drop = \"heat\": expected one of tail, head; did you mean head?");
//! ```
#![no_std]

extern crate alloc;

mod args;
mod choice;
mod closest;
mod param;
mod parse;
mod value;

pub use args::{Args, Component, Misfit, ParamError, unknown_key};
pub use choice::{c_constants, rounding_word};
pub use closest::{closest, meant};
pub use param::{
    Absent, Case, Choice, Depends, FromValue, Kind, Literal, Param, RATE_UNITS, Role, TIME_UNITS, WRITTEN_RATES,
    WRITTEN_SIZES, WRITTEN_TIMES, Word,
};
pub use parse::{exact, exact_with_unit};
pub use value::{Entry, Place, Table, Value, join};

/// The largest rank, 2^63 - 1. Messages print it as a power.
pub const MAX_RANK: u64 = i64::MAX as u64;
