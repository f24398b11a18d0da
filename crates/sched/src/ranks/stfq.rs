//! Start-time fair queueing: a packet's rank is the virtual time at which a fair link would start to send it.
//!
//! Paper: Goyal, Vin, Cheng, "Start-time Fair Queuing", SIGCOMM 1996, section 2; as a rank function: Sivaraman et al.,
//! "Programmable Packet Scheduling at Line Rate", SIGCOMM 2016, Fig. 1; used by SP-PIFO section 6.1.2, AIFO 5.1,
//! PACKS 6.2.
//!
//! Parameters:
//! - weights w_f (integers, one for each flow from flow 0 on; 1 for the others; default: all 1);
//! - scale: rank units per byte of a flow with weight 1 (default 2^10, so that bytes/weight stays exact to a
//!   thousandth of a byte; 1 gives ranks in bytes);
//! - virtual time V: the rank of the packet dequeued last, never decreasing (`monotone`, the default) or unchanged
//!   (`follow`, the published simulations; V falls whenever an approximate scheduler serves out of order);
//! - give-back: whether a drop reduces the finish tag of the flow again (default yes: otherwise a flow pays for bytes
//!   that it never sent);
//! - relative: rank = start - V, how far the flow is ahead of the port, instead of start (default no). Such ranks do
//!   not grow with time. Schedulers that distinguish ranks by their magnitude need them (Exp-PIFO's Fig. 13).
//!
//! start = max(V, finish\[flow\]); finish\[flow\] = start + scale x bytes / w; rank = start.
//!
//! Cost: O(1); with relative ranks O(packets held) to find the start tag of a packet that leaves. A switch needs one register
//! per flow (the finish tag) and one per port (V); with relative ranks the packet carries its start tag beside its rank.
//!
//! What the rank means: on an ideal PIFO the bytes that two backlogged flows send, each divided by its weight, differ
//! by at most one largest packet of each (Theorem 1 of the paper; tested here).
//!
//! Deviations: the increment scale x bytes / w is rounded down to an integer, at least 1. V does not jump when the port
//! falls idle: finish tags are at most one packet ahead of it then.
//!
//! References: `docs/ranks/stfq.md`.

use super::PerFlow;
use crate::params::{Args, Construct, FromArgs, Info, Param, ParamError, choices};
use crate::store::FlowTags;
use crate::{Facts, Packet, RankFn};
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::{Rank, Time};

choices! {
    /// How the virtual time changes when a packet is dequeued.
    #[derive(Default)]
    pub enum VirtualTime {
        #[default]
        Monotone = "monotone": "the largest rank dequeued so far",
        Follow = "follow": "the rank of the packet dequeued last, also if it falls (the published simulations)",
    }
}

/// The parameters of [`Stfq`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StfqParams {
    /// The weights of flows 0, 1, ...; flows beyond have weight 1.
    pub weights: Vec<u32>,
    /// Rank units per byte at weight 1.
    pub scale: u32,
    /// How the virtual time changes.
    pub virtual_time: VirtualTime,
    /// Whether a drop subtracts the finish increment again.
    pub give_back: bool,
    /// Whether the rank is the start tag less the virtual time.
    pub relative: bool,
}

impl Default for StfqParams {
    fn default() -> Self {
        Self {
            weights: Vec::new(),
            scale: DEFAULT_SCALE,
            virtual_time: VirtualTime::Monotone,
            give_back: true,
            relative: false,
        }
    }
}

/// 2^10: exact for weights that are powers of two up to 1024.
const DEFAULT_SCALE: u32 = 1 << 10;

/// Start-time fair queueing.
///
/// ```
/// use pifolab_sched::{Packet, RankFn, ranks::{Stfq, StfqParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut stfq = Stfq::new(StfqParams { scale: 1, ..StfqParams::default() }).unwrap();
/// let packet = |id, flow| Packet { id, flow, size: 1500, rank: Rank::ZERO, arrival: Time::ZERO };
/// assert_eq!(stfq.rank(&packet(0, 0), Time::ZERO), Rank::ZERO);
/// assert_eq!(stfq.rank(&packet(1, 0), Time::ZERO), Rank::from(1500)); // behind its own first packet
/// assert_eq!(stfq.rank(&packet(2, 1), Time::ZERO), Rank::ZERO); // another flow starts beside it
/// ```
#[derive(Clone, Debug)]
pub struct Stfq {
    weights: Box<[u32]>,
    scale: u64,
    virtual_time: VirtualTime,
    give_back: bool,
    /// With relative ranks: the ids and start tags of the packets held, by arrival.
    held: Option<Vec<(u64, u64)>>,
    /// V.
    now: u64,
    finish: Finish,
}

/// The finish tags of flows.
#[derive(Clone, Debug)]
enum Finish {
    /// Only tags above V, which never falls: the value of the others makes no difference.
    Ahead(FlowTags),
    /// All tags: V may fall below any of them.
    All(PerFlow<u64>),
}

impl Finish {
    /// The tag of a packet's flow, mutable. All tags at or below `now`, which is V, are equivalent.
    #[inline(always)]
    fn of(&mut self, flow: u32, now: u64) -> &mut u64 {
        match self {
            Self::Ahead(tags) => tags.get_mut(flow, now),
            Self::All(tags) => tags.get_mut(flow),
        }
    }

    /// The tag of a flow, mutable, if it is stored; tags at or below V need not be.
    #[inline]
    fn known(&mut self, flow: u32) -> Option<&mut u64> {
        match self {
            Self::Ahead(tags) => tags.find_mut(flow),
            Self::All(tags) => Some(tags.get_mut(flow)),
        }
    }
}

impl Stfq {
    /// Starts at virtual time 0 with no backlogged flow.
    ///
    /// # Errors
    /// A weight or scale of zero, or above 2^20.
    pub fn new(params: StfqParams) -> Result<Self, ParamError> {
        SCALE.check(Self::INFO.name, params.scale)?;
        for weight in &params.weights {
            WEIGHTS.check(Self::INFO.name, *weight)?;
        }
        Ok(Self {
            weights: params.weights.into(),
            scale: u64::from(params.scale),
            virtual_time: params.virtual_time,
            give_back: params.give_back,
            held: params.relative.then(Vec::new),
            now: 0,
            finish: match params.virtual_time {
                VirtualTime::Monotone => Finish::Ahead(FlowTags::new()),
                VirtualTime::Follow => Finish::All(PerFlow::new()),
            },
        })
    }

    /// Its parameters.
    pub fn params(&self) -> StfqParams {
        StfqParams {
            weights: self.weights.to_vec(),
            scale: self.scale as u32,
            virtual_time: self.virtual_time,
            give_back: self.give_back,
            relative: self.held.is_some(),
        }
    }

    /// The amount by which `packet` moves the finish tag of its flow.
    #[inline]
    fn increment(&self, packet: &Packet) -> u64 {
        let scaled = self.scale * u64::from(packet.size);
        match self.weights.get(packet.flow as usize) {
            Some(weight) => (scaled / u64::from(*weight)).max(1),
            None => scaled,
        }
    }

    /// The start tag of a packet that leaves or is dropped.
    #[inline]
    fn forget(&mut self, packet: &Packet) -> u64 {
        let Some(held) = &mut self.held else { return packet.rank.get() };
        match held.iter().position(|(id, _)| *id == packet.id) {
            Some(place) => held.remove(place).1,
            // The packet never arrived here.
            None => self.now,
        }
    }
}

impl RankFn for Stfq {
    #[inline]
    fn rank(&mut self, packet: &Packet, _now: Time) -> Rank {
        let increment = self.increment(packet);
        let finish = self.finish.of(packet.flow, self.now);
        let start = self.now.max(*finish);
        *finish = start.saturating_add(increment);
        match &mut self.held {
            None => Rank::saturating(start),
            Some(held) => {
                // A packet that bypassed the queue of an idle port was not reported when it left, and its id may be
                // reused.
                held.retain(|(id, _)| *id != packet.id);
                held.push((packet.id, start));
                Rank::saturating(start - self.now)
            }
        }
    }

    #[inline]
    fn on_dequeue(&mut self, packet: &Packet, _now: Time) {
        let start = self.forget(packet);
        self.now = match self.virtual_time {
            VirtualTime::Monotone => self.now.max(start),
            VirtualTime::Follow => start,
        };
    }

    fn forget_flow(&mut self, flow: u32) {
        if let Some(finish) = self.finish.known(flow) {
            *finish = 0;
        }
    }

    fn flow_bytes(&self) -> usize {
        match &self.finish {
            Finish::Ahead(_) => 0,
            Finish::All(tags) => tags.flow_bytes(),
        }
    }

    fn on_drop(&mut self, packet: &Packet, _now: Time) {
        self.forget(packet);
        if self.give_back {
            let increment = self.increment(packet);
            if let Some(finish) = self.finish.known(packet.flow) {
                *finish = finish.saturating_sub(increment);
            }
        }
    }

    fn needs(&self) -> Facts {
        Facts::NONE
    }
}

const WEIGHTS: Param = Param::integers("weights", 1, 1 << 20).means("every flow has weight 1").doc(
    "The weights of flows 0, 1, ...; flows beyond the list have weight 1. A flow of weight 2 gets twice the bytes.",
);

const SCALE: Param = Param::integer("scale", 1, 1 << 20).unit("rank units per byte").or_integer(1024).doc(
    "Rank units per byte of a flow with weight 1. 1024 keeps bytes/weight exact to a thousandth of a byte; 1 gives \
          ranks in bytes.",
);

const VIRTUAL_TIME: Param = Param::choice::<VirtualTime>("virtual_time")
    .or_word(VirtualTime::Monotone.word())
    .doc("The definition of the virtual time. The two differ only under schedulers that serve out of order.");

const GIVE_BACK: Param = Param::flag("give_back").or_flag(true).doc(
    "Whether a dropped packet takes its share back from its flow's finish tag; otherwise the flow pays for bytes \
          that it never sent.",
);

const RELATIVE: Param = Param::flag("relative").or_flag(false).doc(
    "Whether the rank is the start tag less the virtual time at the packet's arrival, instead of the start tag: such ranks do \
          not grow with time.",
);

impl FromArgs for StfqParams {
    const INFO: Info = Info {
        name: "stfq",
        summary: "Start-time fair queueing: the virtual time at which a fair link would start the packet.",
        paper: "Goyal, Vin, Cheng, SIGCOMM 1996; SP-PIFO section 6.1.2, AIFO 5.1, PACKS 6.2",
        effect: "On PIFO, backlogged flows share the link by weight to within one packet of each.",
        state: "one register per flow (finish tag), one per port (virtual time)",
        cost: "O(1)",
        params: &[WEIGHTS, SCALE, VIRTUAL_TIME, GIVE_BACK, RELATIVE],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            weights: args.get(&WEIGHTS)?.unwrap_or_default(),
            scale: args.given(&SCALE)?,
            virtual_time: args.given(&VIRTUAL_TIME)?,
            give_back: args.given(&GIVE_BACK)?,
            relative: args.given(&RELATIVE)?,
        })
    }
}

impl Construct for Stfq {
    type Params = StfqParams;

    fn construct(params: StfqParams) -> Result<Self, ParamError> {
        Self::new(params)
    }
}

#[cfg(test)]
mod tests;
