//! The state of a program between packets.

use crate::code::Values;
use crate::layout::Header;
use crate::packet::Bits;
use crate::program::Program;
use crate::table::Table;
use std::collections::BTreeMap;

/// A token bucket of two rates and three colours (RFC 2698), in units per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    pub(super) rate: f64,
    pub(super) burst: f64,
    pub(super) left: f64,
    pub(super) at_ns: u64,
}

impl Bucket {
    pub(super) fn fill(&mut self, now_ns: u64) {
        let gained = self.rate * (now_ns - self.at_ns) as f64 * 1e-9;
        self.left = (self.left + gained).min(self.burst);
        self.at_ns = now_ns;
    }
}

/// Nodes of multicast trees, which are created first and then added to groups.
#[derive(Default)]
pub(crate) struct Replication {
    pub(crate) nodes: Vec<(u32, Vec<u32>)>,
    pub(crate) groups: Vec<(u32, Vec<usize>)>,
}

/// The members and the groups of an action profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    /// The number of the action in the program, and its arguments.
    pub(crate) members: Vec<(usize, Vec<u64>)>,
    /// The members of each group.
    pub(crate) groups: Vec<Vec<u64>>,
}

/// The state of a program and the entries of its control plane.
pub(super) struct State {
    /// The cells of all registers, in limbs of 64 bits.
    pub(super) cells: Vec<u64>,
    pub(super) counters: Vec<Vec<[u64; 2]>>,
    pub(super) meters: Vec<Vec<Option<[Bucket; 2]>>>,
    pub(super) tables: Vec<Table>,
    pub(super) profiles: Vec<Members>,
    /// The values of each use of a value set.
    pub(super) sets: Vec<Vec<Box<[[u64; 2]]>>>,
    /// The ports of a clone session.
    pub(super) sessions: BTreeMap<u32, Vec<(u32, u32)>>,
    pub(super) groups: BTreeMap<u32, Vec<(u32, u32)>>,
    pub(super) random: u64,
    pub(super) bits: Bits,
    // The requests of the packet being processed.
    pub(super) now_ns: u64,
    pub(super) length: u64,
    pub(super) payload: usize,
    pub(super) packet_bytes: Vec<u8>,
    pub(super) clone: Option<(u32, u32)>,
    pub(super) resubmit: Option<u32>,
    pub(super) recirculate: Option<u32>,
    pub(super) digests: u64,
    pub(super) cut_to: usize,
    pub(super) failed: u64,
    /// The number of loops that were left after too many rounds.
    pub(super) endless: u64,
}

impl State {
    /// Registers of 0 and the entries of the program.
    pub(super) fn new(program: &Program, seed: u64) -> Self {
        Self {
            cells: vec![0; program.registers.iter().map(|r| r.size as usize * r.limbs()).sum()],
            counters: program.counters.iter().map(|c| vec![[0; 2]; c.size as usize]).collect(),
            meters: program.meters.iter().map(|m| vec![None; m.size as usize]).collect(),
            tables: program.tables.clone(),
            profiles: vec![Members::default(); program.profiles.len()],
            sets: vec![Vec::new(); program.set_uses.len()],
            sessions: BTreeMap::new(),
            groups: BTreeMap::new(),
            random: seed,
            bits: Bits::default(),
            now_ns: 0,
            length: 0,
            payload: 0,
            packet_bytes: Vec::new(),
            clone: None,
            resubmit: None,
            recirculate: None,
            digests: 0,
            cut_to: usize::MAX,
            failed: 0,
            endless: 0,
        }
    }
}

pub(super) fn set(values: &mut Values, slot: Option<u32>, value: impl Into<i128>) {
    if let Some(slot) = slot {
        values.set(slot, value.into());
    }
}

/// Makes a header valid, and the other headers of its union invalid.
pub(super) fn make_valid(header: &Header, values: &mut Values) {
    values.set(header.valid, 1);
    header.others.iter().for_each(|&other| values.set(other, 0));
}

pub(super) fn get(values: &Values, slot: Option<u32>) -> i128 {
    slot.map_or(0, |slot| values.get(slot))
}
