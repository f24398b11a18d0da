//! The targets of programs and their limits.

use pifolab_params::choices;

choices! {
    /// The target of a program.
    pub enum Target {
        Bmv2 = "bmv2": "BMv2's `simple_switch`: the architecture v1model",
        Tofino = "tofino": "Tofino: the architecture TNA",
        Tofino2 = "tofino2": "Tofino 2: T2NA",
    }
}

impl Target {
    /// Its name for users.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Bmv2 => "BMv2",
            Self::Tofino => "Tofino",
            Self::Tofino2 => "Tofino 2",
        }
    }

    /// Bits of a register.
    pub(crate) const fn word_bits(self) -> u32 {
        match self {
            Self::Bmv2 => 64,
            Self::Tofino | Self::Tofino2 => 32,
        }
    }

    /// Queues of strict priority: the three bits of `standard_metadata.priority`, and eight priorities of Tofino's
    /// traffic manager.
    pub const fn queues(self) -> usize {
        8
    }

    /// The most window slots. BMv2: the number that compiles without taking minutes. Tofino: each slot needs a stateful
    /// unit, of which a stage has four, and the sum needs stages, too; the number is the largest that was compiled.
    pub const fn window(self) -> u64 {
        match self {
            Self::Bmv2 => 256,
            Self::Tofino | Self::Tofino2 => 16,
        }
    }
}
