//! Chooses the leaf of a packet.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;
use pifolab_params::choices;
use pifolab_sched::{Fact, Facts, Hints, Labels, Packet};
use pifolab_units::Rank;

choices! {
    /// The field by which packets are sorted into leaves.
    #[derive(Default)]
    pub enum Field {
        #[default]
        Flow = "flow": "the flow of a packet",
        Size = "size": "the size of a packet in bytes",
        Rank = "rank": "the rank that a packet carries",
        Class = "class": "the class that the source of a packet gives it, such as a column of a trace",
        Dscp = "dscp": "the differentiated services code point of a packet, 0 to 63",
        SourceHost = "source-host": "the host that sent a packet: its number in a network, its IPv4 address in a frame",
        DestinationHost = "destination-host": "the host that a packet goes to",
        SourcePort = "source-port": "the port of TCP or UDP that a packet comes from",
        DestinationPort = "destination-port": "the port of TCP or UDP that a packet goes to",
    }
}

impl Field {
    /// The largest value of the field.
    pub const fn largest(self) -> u64 {
        match self {
            Self::Rank => Rank::MAX.get(),
            Self::Dscp => 63,
            Self::SourcePort | Self::DestinationPort => u16::MAX as u64,
            Self::Flow | Self::Size | Self::Class | Self::SourceHost | Self::DestinationHost => u32::MAX as u64,
        }
    }

    /// Whether a user may write values as IPv4 addresses.
    pub const fn is_host(self) -> bool {
        matches!(self, Self::SourceHost | Self::DestinationHost)
    }

    /// The facts about every packet that the field requires.
    pub const fn needs(self) -> Facts {
        match self {
            Self::Flow | Self::Size => Facts::NONE,
            Self::Rank => Facts::one(Fact::CarriedRank),
            Self::Class => Facts::one(Fact::Class),
            Self::Dscp => Facts::one(Fact::Dscp),
            Self::SourceHost | Self::DestinationHost => Facts::one(Fact::Hosts),
            Self::SourcePort | Self::DestinationPort => Facts::one(Fact::Ports),
        }
    }
}

/// The values of a [`Field`] whose packets belong to a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Takes {
    /// These values.
    Values(Vec<RangeInclusive<u64>>),
    /// All values that belong to no other leaf.
    Rest,
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rest => f.write_str("\"rest\""),
            Self::Values(values) => f.debug_list().entries(values).finish(),
        }
    }
}

/// Chooses the leaf of a packet. Leaves are numbered from 0, from left to right. `None`, or a number without a leaf,
/// rejects the packet.
pub type Classify = dyn FnMut(&Packet, &Hints) -> Option<u32> + Send;

/// Sorts packets into leaves.
pub(super) enum Classifier {
    /// Every packet belongs to the only leaf.
    Only,
    ByField {
        field: Field,
        /// The leaves of small values; [`NO_LEAF`] for values without a leaf.
        table: Box<[u32]>,
        /// The leaves of other values: first value, last value, leaf; in ascending order.
        ranges: Box<[(u64, u64, u32)]>,
        rest: Option<u32>,
    },
    Custom {
        classify: Box<Classify>,
        leaves: u32,
    },
}

/// Values below this limit are looked up in a table.
const TABLE: u64 = 1 << 12;
/// The table's entry for values without a leaf.
const NO_LEAF: u32 = u32::MAX;

/// The error of two leaves with a common value.
#[derive(Debug)]
pub(super) struct Overlap {
    pub(super) value: u64,
    pub(super) leaves: (u32, u32),
}

impl Classifier {
    /// Creates a classifier by `field`; `takes[i]` holds the values of leaf i.
    pub(super) fn by_field(field: Field, takes: &[Takes]) -> Result<Self, Overlap> {
        let mut ranges: Vec<(u64, u64, u32)> = Vec::new();
        let mut rest = None;
        for (leaf, takes) in takes.iter().enumerate() {
            let leaf = leaf as u32;
            match takes {
                Takes::Values(values) => ranges.extend(values.iter().map(|range| (*range.start(), *range.end(), leaf))),
                Takes::Rest => rest = Some(leaf),
            }
        }
        ranges.retain(|(first, last, _)| first <= last);
        ranges.sort_unstable();
        if let Some(pair) = ranges.windows(2).find(|pair| pair[1].0 <= pair[0].1) {
            return Err(Overlap { value: pair[1].0, leaves: (pair[0].2, pair[1].2) });
        }
        let entries = ranges.last().map_or(0, |(_, last, _)| last.saturating_add(1).min(TABLE));
        let mut table: Box<[u32]> = core::iter::repeat_n(rest.unwrap_or(NO_LEAF), entries as usize).collect();
        for (first, last, leaf) in &ranges {
            for value in *first..(last.saturating_add(1)).min(entries) {
                table[value as usize] = *leaf;
            }
        }
        ranges.retain(|(_, last, _)| *last >= entries);
        Ok(Self::ByField { field, table, ranges: ranges.into(), rest })
    }

    /// The facts about every packet that the classifier requires.
    pub(super) const fn needs(&self) -> Facts {
        match self {
            Self::ByField { field, .. } => field.needs(),
            Self::Only | Self::Custom { .. } => Facts::NONE,
        }
    }

    /// Whether the classifier reads only a packet's descriptor.
    pub(super) const fn reads_descriptors(&self) -> bool {
        match self {
            Self::Only => true,
            Self::ByField { field, .. } => matches!(field, Field::Flow | Field::Size | Field::Rank),
            Self::Custom { .. } => false,
        }
    }

    /// Returns the same as [`leaf`](Self::leaf), for a classifier that reads only descriptors.
    #[inline(always)]
    pub(super) fn leaf_by_descriptor(&self, flow: u32, size: u32, rank: Rank) -> Option<u32> {
        match self {
            Self::ByField { field, table, ranges, rest } => {
                let value = match field {
                    Field::Flow => u64::from(flow),
                    Field::Size => u64::from(size),
                    _ => rank.get(),
                };
                look_up(table, ranges, *rest, value)
            }
            Self::Only | Self::Custom { .. } => Some(0),
        }
    }

    /// The leaf of a packet whose field has this value; `None` also if a function sorts packets.
    pub(super) fn leaf_of_value(&self, value: u64) -> Option<u32> {
        match self {
            Self::Only => Some(0),
            Self::ByField { table, ranges, rest, .. } => look_up(table, ranges, *rest, value),
            Self::Custom { .. } => None,
        }
    }

    pub(super) fn leaf(&mut self, packet: &Packet, hints: Option<&Hints>) -> Option<u32> {
        let label = |read: fn(&Labels) -> u64| hints.map_or(0, |hints| read(&hints.labels));
        match self {
            Self::Only => Some(0),
            Self::ByField { field, table, ranges, rest } => {
                let value = match field {
                    Field::Flow => u64::from(packet.flow),
                    Field::Size => u64::from(packet.size),
                    Field::Rank => packet.rank.get(),
                    Field::Class => label(|labels| labels.class.into()),
                    Field::Dscp => label(|labels| labels.dscp.into()),
                    Field::SourceHost => label(|labels| labels.source.into()),
                    Field::DestinationHost => label(|labels| labels.destination.into()),
                    Field::SourcePort => label(|labels| labels.source_port.into()),
                    Field::DestinationPort => label(|labels| labels.destination_port.into()),
                };
                look_up(table, ranges, *rest, value)
            }
            Self::Custom { classify, leaves } => {
                classify(packet, hints.unwrap_or(&Hints::default())).filter(|leaf| leaf < leaves)
            }
        }
    }
}

/// The leaf of `value`.
#[inline(always)]
fn look_up(table: &[u32], ranges: &[(u64, u64, u32)], rest: Option<u32>, value: u64) -> Option<u32> {
    match table.get(value as usize) {
        Some(leaf) => (*leaf != NO_LEAF).then_some(*leaf),
        None => search(ranges, value).or(rest),
    }
}

#[inline(never)]
fn search(ranges: &[(u64, u64, u32)], value: u64) -> Option<u32> {
    let at = ranges.partition_point(|(_, last, _)| *last < value);
    ranges.get(at).filter(|(first, _, _)| *first <= value).map(|(_, _, leaf)| *leaf)
}
