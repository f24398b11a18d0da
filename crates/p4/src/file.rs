//! Writes parameter files: definitions for the preprocessor, in which a list is a macro that applies another macro.

use crate::target::Target;
use std::fmt::{Display, Write as _};

/// A parameter file that is being written.
pub struct File {
    text: String,
    guard: String,
}

impl File {
    pub fn new(scheduler: &str, target: Target) -> Self {
        let guard = format!("PF_PARAMETERS_{}", scheduler.to_uppercase().replace('-', "_"));
        let text = format!(
            "// SPDX-License-Identifier: Apache-2.0\n\
             // Parameters of {scheduler} on {}. Written by `pifolab dataplane p4 parameters`: not to be edited.\n\
             #ifndef {guard}\n#define {guard}\n",
            target.label()
        );
        Self { text, guard }
    }

    /// `#define NAME value`.
    pub fn define(&mut self, name: &str, value: impl Display) {
        writeln!(self.text, "#define PF_{name} {value}").expect("writing to a String succeeds");
    }

    /// `#define NAME bits w value`: an integer of that width.
    pub fn integer(&mut self, name: &str, bits: u32, value: impl Display) {
        self.define(name, format_args!("{bits}w{value}"));
    }

    /// `#define NAME(M) M(a) M(b) ...`.
    pub fn each<T: Display>(&mut self, name: &str, members: impl IntoIterator<Item = T>) {
        write!(self.text, "#define PF_{name}(M)").expect("writing to a String succeeds");
        for member in members {
            write!(self.text, " M({member})").expect("writing to a String succeeds");
        }
        self.text.push('\n');
    }

    /// `#define NAME(A) key : A(value); ...`: constant entries of a table.
    pub fn entries(&mut self, name: &str, entries: impl IntoIterator<Item = (String, String)>) {
        write!(self.text, "#define PF_{name}(A)").expect("writing to a String succeeds");
        for (key, value) in entries {
            write!(self.text, " {key} : A({value});").expect("writing to a String succeeds");
        }
        self.text.push('\n');
    }

    pub fn queues(&mut self, in_bytes: bool, capacities: &[u64]) {
        self.define("IN_BYTES", u8::from(in_bytes));
        self.integer("TOTAL", 64, capacities.iter().sum::<u64>());
        let queues = capacities.iter().enumerate();
        self.each("EACH_QUEUE", queues.clone().map(|(queue, capacity)| format!("{queue}, 64w{capacity}")));
        self.each("EACH_QUEUE_BELOW_FIRST", queues.skip(1).map(|(queue, capacity)| format!("{queue}, 64w{capacity}")));
    }

    pub fn text(mut self) -> String {
        writeln!(self.text, "#endif // {}", self.guard).expect("writing to a String succeeds");
        self.text
    }
}
