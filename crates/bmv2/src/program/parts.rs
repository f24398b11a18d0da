//! The parts of a loaded program, and the state of loading.

use crate::builder::Builder;
use crate::checksum::Calculation;
use crate::code::{Values, keep_low};
use crate::json::Node;
use crate::layout::{Field, Layout, Slot};
use crate::table::{KeyPart, Table, matches};
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
        to: Slot,
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
    pub key: Key,
    /// The limbs of the mask under which its values are compared, if there is one.
    pub mask: Option<Vec<u64>>,
}

/// The key of a parser's state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Key {
    pub parts: Vec<KeyPart>,
    /// Whether its parts share one word.
    packed: bool,
}

impl Key {
    pub fn new(parts: Vec<KeyPart>) -> Self {
        let narrow = parts.iter().all(|part| matches!(part.slot, Slot::Narrow(_)));
        let mut key = Self { parts, packed: false };
        key.packed = narrow && (1..=64).contains(&key.bits());
        key
    }

    pub fn bits(&self) -> u32 {
        self.parts.iter().map(|part| part.bits).sum()
    }

    /// Appends the words of a packet's key.
    pub fn gather(&self, values: &Values, words: &mut Vec<u64>) {
        if !self.packed {
            return self.parts.iter().for_each(|part| part.gather(values, words));
        }
        let mut word = 0;
        for part in &self.parts {
            let Slot::Narrow(slot) = part.slot else { unreachable!("checked when the key was made") };
            word = joined(word, keep_low(values.low(slot), part.bits as u8), part.bits);
        }
        words.push(word);
    }

    /// Whether the words of a key match.
    pub fn matches(&self, words: &[u64], cells: &[[u64; 2]]) -> bool {
        if self.packed { words[0] & cells[0][1] == cells[0][0] } else { matches(&self.parts, words, cells) }
    }

    /// What the words of a key must be: limbs of each part, of a value and of a mask; `None` if no key can match.
    pub fn cells(&self, limbs: &[u64], mask: &[u64]) -> Option<Box<[[u64; 2]]>> {
        let pairs = limbs.iter().zip(mask).map(|(limb, mask)| [limb & mask, *mask]);
        if !self.packed {
            return Some(pairs.collect());
        }
        let mut cell = [0; 2];
        for (part, [value, mask]) in self.parts.iter().zip(pairs) {
            if keep_low(value, part.bits as u8) != value {
                return None;
            }
            let mask = keep_low(mask, part.bits as u8);
            cell = [joined(cell[0], value, part.bits), joined(cell[1], mask, part.bits)];
        }
        Some(Box::new([cell]))
    }
}

/// A word with `bits` more bits at its end.
fn joined(word: u64, more: u64, bits: u32) -> u64 {
    word.checked_shl(bits).unwrap_or(0) | more
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
    pub key: Key,
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
    /// The place of its first cell among the cells of all registers.
    pub start: usize,
}

impl Register {
    pub fn limbs(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }

    /// The limbs of the cell `index`, if there is one, among the cells of all registers.
    pub fn cell(&self, index: i128) -> Option<std::ops::Range<usize>> {
        let index = usize::try_from(index).ok().filter(|&index| (index as u64) < self.size)?;
        let first = self.start + index * self.limbs();
        Some(first..first + self.limbs())
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
    /// Writes `from` to a field of the element of a stack at the index in a slot.
    SetElement {
        stack: u32,
        index: u32,
        field: u32,
        from: Slot,
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
    /// Copies one element to another: stacks and slots of indices.
    CopyElement {
        to: (u32, u32),
        from: (u32, u32),
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
