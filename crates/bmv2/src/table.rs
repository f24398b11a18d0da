//! Tables: keys, entries and look-ups.

use crate::code::Values;
use crate::json::Number;
use crate::layout::Slot;
use rustc_hash::FxHashMap;

/// The kind of match of a part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Exact,
    Lpm,
    Ternary,
    Range,
}

impl Match {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "exact" | "valid" => Self::Exact,
            "lpm" => Self::Lpm,
            "ternary" | "optional" => Self::Ternary,
            "range" => Self::Range,
            _ => return None,
        })
    }
}

/// A part of a key: a field, possibly masked.
#[derive(Clone, Debug)]
pub(crate) struct KeyPart {
    pub name: String,
    pub slot: Slot,
    pub bits: u32,
    pub how: Match,
    pub mask: Option<Vec<u64>>,
}

impl KeyPart {
    pub fn limbs(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }

    /// Appends the value's limbs, lowest first.
    pub fn gather(&self, values: &Values, key: &mut Vec<u64>) {
        let start = key.len();
        match self.slot {
            Slot::Narrow(slot) => {
                let value = values.get(slot);
                if self.bits <= 64 {
                    key.push(value as u64 & (u64::MAX >> (64 - self.bits)));
                } else {
                    key.push(value as u64);
                    key.push((value >> 64) as u64 & (u64::MAX >> (128 - self.bits)));
                }
            }
            Slot::Wide { at, limbs } => key.extend_from_slice(&values.wide[at as usize..(at + limbs) as usize]),
            Slot::Var(_) => unreachable!("refused where keys are read"),
        }
        if let Some(mask) = &self.mask {
            key[start..].iter_mut().zip(mask).for_each(|(limb, mask)| *limb &= mask);
        }
    }
}

/// The value of an entry for one part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Exact(Number),
    /// A value and the number of its highest bits that count.
    Prefix(Number, u32),
    Masked(Number, Number),
    /// The lowest and the highest value.
    Between(Number, Number),
}

/// An action with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The action, by its place in the table's list.
    pub action: usize,
    /// The arguments in the form of the action's parameters: limbs, lowest first.
    pub arguments: Vec<u64>,
}

/// The result of a lookup in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Call(Call),
    /// A member of the table's action profile, by its number.
    Member(u64),
    /// A group of the table's action profile, by its number.
    Group(u64),
    /// No action.
    Nothing,
}

/// Entries of one prefix length; all entries if no part is a prefix.
#[derive(Clone, Debug)]
struct Level {
    prefix: u32,
    entries: FxHashMap<Box<[u64]>, u32>,
}

/// Rows with the lowest priority first; equal ones in the order in which they were added.
#[derive(Clone, Debug)]
struct Row {
    priority: u64,
    /// Two limbs for each limb of the key: a value and a mask, or the ends of a range.
    cells: Box<[[u64; 2]]>,
    entry: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub name: String,
    pub key: Vec<KeyPart>,
    /// Whether the order of entries decides, not the key alone.
    pub ordered: bool,
    pub size: u64,
    pub entries: Vec<Outcome>,
    pub default: Outcome,
    /// The packets and bytes of each entry's direct counter.
    pub counts: Vec<[u64; 2]>,
    pub counted: bool,
    levels: Vec<Level>,
    rows: Vec<Row>,
    gathered: Vec<u64>,
    masked: Vec<u64>,
}

fn prefix_mask(bits: u32, prefix: u32) -> Vec<u64> {
    let mut mask = vec![0; bits.div_ceil(64) as usize];
    for bit in bits - prefix..bits {
        mask[(bit / 64) as usize] |= 1 << (bit % 64);
    }
    mask
}

impl Table {
    pub fn new(name: String, key: Vec<KeyPart>, size: u64, default: Outcome) -> Self {
        let ordered = key.iter().any(|part| matches!(part.how, Match::Ternary | Match::Range))
            || key.iter().filter(|part| part.how == Match::Lpm).count() > 1;
        Self {
            name,
            key,
            ordered,
            size,
            entries: Vec::new(),
            default,
            counts: Vec::new(),
            counted: false,
            levels: Vec::new(),
            rows: Vec::new(),
            gathered: Vec::new(),
            masked: Vec::new(),
        }
    }

    /// Adds an entry, whose parts fit the key.
    pub fn add(&mut self, wanted: &[Wanted], priority: u64, outcome: Outcome) -> Result<(), String> {
        if self.entries.len() as u64 >= self.size {
            return Err(format!("{}: {} entries are as many as the table holds", self.name, self.size));
        }
        let entry = self.entries.len() as u32;
        if self.ordered {
            let mut cells = Vec::new();
            for (part, wanted) in self.key.iter().zip(wanted) {
                let limbs = part.limbs();
                let (first, second) = match wanted {
                    Wanted::Exact(value) => (value.two_complement(limbs), prefix_mask(part.bits, part.bits)),
                    Wanted::Prefix(value, prefix) => (value.two_complement(limbs), prefix_mask(part.bits, *prefix)),
                    Wanted::Masked(value, mask) => (value.two_complement(limbs), mask.two_complement(limbs)),
                    Wanted::Between(low, high) => (low.two_complement(limbs), high.two_complement(limbs)),
                };
                let range = matches!(wanted, Wanted::Between(..));
                cells.extend(
                    first.into_iter().zip(second).map(|(value, mask)| [if range { value } else { value & mask }, mask]),
                );
            }
            let at = self.rows.partition_point(|row| row.priority <= priority);
            self.rows.insert(at, Row { priority, cells: cells.into(), entry });
        } else {
            let mut key = Vec::new();
            let mut prefix = 0;
            for (part, wanted) in self.key.iter().zip(wanted) {
                let mut limbs = match wanted {
                    Wanted::Exact(value) | Wanted::Prefix(value, _) => value.two_complement(part.limbs()),
                    Wanted::Masked(..) | Wanted::Between(..) => unreachable!("such a table is ordered"),
                };
                if let Wanted::Prefix(_, length) = wanted {
                    prefix = *length;
                    limbs.iter_mut().zip(prefix_mask(part.bits, prefix)).for_each(|(limb, mask)| *limb &= mask);
                }
                key.extend(limbs);
            }
            let at = self.levels.partition_point(|level| level.prefix > prefix);
            if self.levels.get(at).is_none_or(|level| level.prefix != prefix) {
                self.levels.insert(at, Level { prefix, entries: FxHashMap::default() });
            }
            if self.levels[at].entries.insert(key.into(), entry).is_some() {
                return Err(format!("{}: an entry of this key is there already", self.name));
            }
        }
        self.entries.push(outcome);
        self.counts.push([0; 2]);
        Ok(())
    }

    /// The entry that the packet's values match.
    pub fn find(&mut self, values: &Values) -> Option<u32> {
        self.gathered.clear();
        for part in &self.key {
            part.gather(values, &mut self.gathered);
        }
        if self.ordered {
            let (key, parts) = (&self.gathered, &self.key);
            return self.rows.iter().find(|row| matches(parts, key, &row.cells)).map(|row| row.entry);
        }
        for level in &self.levels {
            let mut key = &self.gathered;
            if level.prefix > 0 || self.key.iter().any(|part| part.how == Match::Lpm) {
                self.masked.clear();
                let mut at = 0;
                for part in &self.key {
                    let limbs = &self.gathered[at..at + part.limbs()];
                    at += part.limbs();
                    if part.how != Match::Lpm {
                        self.masked.extend_from_slice(limbs);
                        continue;
                    }
                    let cleared = part.bits - level.prefix;
                    for (index, limb) in limbs.iter().enumerate() {
                        let below = cleared.saturating_sub(index as u32 * 64);
                        self.masked.push(if below >= 64 { 0 } else { limb >> below << below });
                    }
                }
                key = &self.masked;
            }
            if let Some(&entry) = level.entries.get(key.as_slice()) {
                return Some(entry);
            }
        }
        None
    }
}

/// Whether a key matches the cells of a row.
pub(crate) fn matches(parts: &[KeyPart], key: &[u64], cells: &[[u64; 2]]) -> bool {
    let mut at = 0;
    for part in parts {
        let limbs = at..at + part.limbs();
        at = limbs.end;
        let fits = if part.how == Match::Range {
            let high_first = || limbs.clone().rev();
            let low = high_first().map(|i| key[i]).ge(high_first().map(|i| cells[i][0]));
            low && high_first().map(|i| key[i]).le(high_first().map(|i| cells[i][1]))
        } else {
            limbs.into_iter().all(|i| key[i] & cells[i][1] == cells[i][0])
        };
        if !fits {
            return false;
        }
    }
    true
}
