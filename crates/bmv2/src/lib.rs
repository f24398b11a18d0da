//! An interpreter of the JSON that p4c writes for BMv2 (`p4c-bm2-ss`, architecture `v1model`), with a traffic manager whose
//! ports have an exact rate in virtual time.
//!
//! A [`Program`] is compiled once to flat code: fields, constants and intermediate results are slots of one array;
//! an operation on values of up to 126 bits is one step, which computes in 64 bits if its result depends on no others;
//! wider values are limbs at fixed places. A [`Switch`] runs the code. [`Switch::receive`] parses a packet, runs
//! ingress and puts the packet into one of the strict-priority queues of its port; [`Switch::send`] runs egress and the
//! deparser for the next packet of a port. The time and the seed of random numbers are arguments: the same calls give the same
//! packets.
//!
//! The format is that of `docs/JSON_format.md` in p4lang/behavioral-model, version 2. Behaviour that the document
//! leaves open is that of `simple_switch`: arithmetic is exact and only a write to a field truncates a value; a
//! priority beyond the number of queues drops; a multicast group overrides a drop; a register read out of range changes
//! nothing. Fields of invalid headers read 0; BMv2 leaves them undefined.
//!
//! Not supported, and refused when a program is loaded: externs and other primitives than those of `v1model`, reads of
//! registers inside expressions, calls of actions outside of tables, hash algorithms beyond those of `v1model`, signed
//! values of more than 126 bits that saturate or are the distance of a shift, and expressions of more than 16,384 bits.
#![forbid(unsafe_code)]

mod builder;
mod checksum;
mod code;
pub mod entries;
mod expression;
mod json;
mod layout;
mod packet;
mod program;
mod switch;
mod table;
mod wide;

pub use json::Error;
pub use program::Program;
pub use switch::{Admitted, Limits, Outcome, Placed, Sent, Switch, Waited};
