//! The parts of a loaded program, and the state of loading.

use crate::builder::Builder;
use crate::checksum::Calculation;
use crate::json::Node;
use crate::layout::{Field, Layout};
use crate::table::{KeyPart, Table};
use std::collections::HashMap;

/// An egress port that drops.
pub(crate) const DROP_PORT: i128 = 511;

/// One operation of a parser.
#[derive(Clone, Debug)]
pub(crate) enum ParserOp {
    Extract(u32),
    /// A header whose field of variable length has the number of bits in the slot.
    ExtractVarying {
        header: u32,
        bits: u32,
    },
    ExtractNext(u32),
    /// The same of a header whose field of variable length has the number of bits in the slot.
    ExtractNextVarying {
        stack: u32,
        bits: u32,
    },
    Lookahead {
        to: u32,
        offset: u32,
        bits: u32,
    },
    /// Runs the code from this place.
    Run(u32),
    /// Ends with the error of the second slot unless the first holds true.
    Verify {
        condition: u32,
        error: u32,
    },
    /// Advances by the number of bits in the slot.
    Advance(u32),
}

/// The values that a transition takes: a value and a mask for each limb of the key.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    Cells(Box<[[u64; 2]]>),
    /// The values of a set, by the number of this use of it.
    Set(u32),
}

/// What it takes, and the next state; `None` ends the parser.
pub(crate) type Transition = (Taken, Option<u32>);

/// The use of a value set in a transition.
#[derive(Clone, Debug)]
pub(crate) struct SetUse {
    pub set: String,
    pub key: Vec<KeyPart>,
}

/// The members that entries of tables share.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub name: String,
    /// The calculation that chooses a member of a group.
    pub selector: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ParserState {
    pub ops: Vec<ParserOp>,
    pub key: Vec<KeyPart>,
    pub transitions: Vec<Transition>,
    /// The next state if no transition matches; the outer `None` is an error.
    pub otherwise: Option<Option<u32>>,
}

/// An array of cells.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub name: String,
    pub bits: u32,
    pub size: u64,
}

impl Register {
    pub fn limbs(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }
}

/// Effects of an action besides computing.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    WideRegisterRead {
        array: u32,
        index: u32,
        at: u32,
    },
    WideRegisterWrite {
        array: u32,
        index: u32,
        at: u32,
    },
    Hash {
        to: u32,
        calculation: u32,
        base: u32,
        size: u32,
        bits: u8,
    },
    Random {
        to: u32,
        low: u32,
        high: u32,
        bits: u8,
    },
    Count {
        counter: u32,
        index: u32,
    },
    Meter {
        meter: u32,
        index: u32,
        to: u32,
    },
    CloneIngress {
        session: u32,
        list: u32,
    },
    CloneEgress {
        session: u32,
        list: u32,
    },
    Resubmit {
        list: u32,
    },
    Recirculate {
        list: u32,
    },
    Digest,
    Truncate {
        bytes: u32,
    },
    Push {
        stack: u32,
        count: u32,
    },
    Pop {
        stack: u32,
        count: u32,
    },
    CopyVarying {
        to: u32,
        from: u32,
    },
    CopyStack {
        to: u32,
        from: u32,
    },
    /// Writes the slot `from` to a field of the element of a stack at the index in a slot.
    SetElement {
        stack: u32,
        index: u32,
        field: u32,
        from: u32,
    },
    SetElementValid {
        stack: u32,
        index: u32,
        valid: bool,
    },
    CopyToElement {
        stack: u32,
        index: u32,
        from: u32,
    },
    CopyFromElement {
        stack: u32,
        index: u32,
        to: u32,
    },
    Assert {
        condition: u32,
    },
}

/// The slots of the metadata that the switch reads and writes, as far as the program has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intrinsic {
    pub ingress_port: Option<u32>,
    pub packet_length: Option<u32>,
    pub egress_spec: Option<u32>,
    pub egress_port: Option<u32>,
    pub instance_type: Option<u32>,
    pub checksum_error: Option<u32>,
    pub parser_error: Option<u32>,
    pub priority: Option<u32>,
    pub multicast: Option<u32>,
    pub replica: Option<u32>,
    pub ingress_time: Option<u32>,
    pub egress_time: Option<u32>,
    pub enqueue_time: Option<u32>,
    pub enqueue_depth: Option<u32>,
    pub waited: Option<u32>,
    pub dequeue_depth: Option<u32>,
    pub queue: Option<u32>,
}

/// The code of a table's actions and their parameters.
#[derive(Clone, Debug)]
pub(crate) struct TableCode {
    /// The start of each action; one more for no action.
    pub starts: Vec<u32>,
    /// The actions' names, and their numbers in the program.
    pub actions: Vec<String>,
    pub numbers: Vec<usize>,
    /// The action profile, if entries name its members.
    pub profile: Option<u32>,
    pub parameters: Vec<Vec<Field>>,
    /// Direct counters and meters.
    pub meter: Option<(u32, u32)>,
    pub is_const: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Checksum {
    pub calculation: u32,
    pub target: Field,
    /// Code of the condition, and its slot.
    pub condition: Option<(u32, u32)>,
    pub update: bool,
    pub verify: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct MeterArray {
    pub name: String,
    pub size: u64,
    pub in_bytes: bool,
}

pub(super) struct Action<'a> {
    pub(super) name: String,
    pub(super) parameters: Vec<Field>,
    pub(super) primitives: Vec<Node<'a>>,
}

/// The parts read so far.
pub(super) struct Loader<'a> {
    pub(super) layout: Layout,
    pub(super) builder: Builder,
    pub(super) effects: Vec<Effect>,
    pub(super) registers: Vec<Register>,
    pub(super) register_names: HashMap<String, u32>,
    pub(super) counters: Vec<Register>,
    pub(super) meters: Vec<MeterArray>,
    pub(super) meter_targets: HashMap<String, (u32, u32)>,
    pub(super) direct_counters: Vec<String>,
    pub(super) calculations: Vec<Calculation>,
    pub(super) calculation_names: HashMap<String, u32>,
    pub(super) actions: Vec<Action<'a>>,
    pub(super) action_ids: HashMap<u64, usize>,
    pub(super) profiles: Vec<Profile>,
    pub(super) set_uses: Vec<SetUse>,
    pub(super) tables: Vec<Table>,
    pub(super) table_code: Vec<TableCode>,
    pub(super) hit: u32,
    pub(super) egress_spec: Option<u32>,
    pub(super) multicast: Option<u32>,
}
