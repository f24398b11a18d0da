//! Token bucket: packets keep the rank that they carry, and may not leave before tokens pay for them.
//!
//! Paper: Sivaraman et al., "Programmable Packet Scheduling at Line Rate", SIGCOMM 2016, Fig. 4c; as the eligibility of PIEO:
//! Shrivastav, SIGCOMM 2019, section 4.
//!
//! Parameters:
//! - rate r (Gb/s) and burst B (bytes, default 1514);
//! - per: one bucket for the port, or one for each flow.
//!
//! tokens = min(B, tokens + r x (now - last)); a packet is eligible now if its length is covered, else now + (length -
//! tokens) / r; tokens -= length; last = now. In any interval of length t at most r x t + max(B, largest packet) bytes
//! become eligible.
//!
//! Cost: O(1). A switch needs two registers for each bucket.
//!
//! What the rank means: the packet keeps its carried rank. Only PIEO reads eligibility and holds packets back.
//!
//! Deviations: arithmetic is exact; a packet's time is rounded up to the next picosecond, and the bucket is charged for
//! the difference. A refused packet returns its tokens. A packet pushed out later does not: packets behind it already
//! have their times, and returned tokens would let others pass in addition.
//!
//! References: `docs/ranks/token-bucket.md`.

use super::PerFlow;
use crate::params::{self, Args, FromArgs, Info, Param, ParamError, choices};
use crate::{Bucket, Fact, Facts, Packet, RankFn, TokenBucket};
use pifolab_params::Kind;
use pifolab_units::{Bytes, Rank, Time};

choices! {
    /// The unit that a bucket serves.
    #[derive(Default)]
    pub enum Per {
        #[default]
        Port = "port": "one bucket for all packets of the port",
        Flow = "flow": "a bucket for each flow",
    }
}

/// A token bucket as a rank function.
#[derive(Clone, Debug)]
pub struct Shaped {
    set: TokenBucket,
    buckets: Buckets,
    /// The packet that was charged last, and its bucket before that.
    charged: Option<(u64, Bucket)>,
}

#[derive(Clone, Debug)]
enum Buckets {
    Port(Bucket),
    /// `None` for a flow that has sent nothing: its bucket is full.
    Flows(PerFlow<Option<Bucket>>),
}

impl Shaped {
    /// Starts with full buckets.
    pub fn new(set: TokenBucket, per: Per) -> Self {
        let buckets = match per {
            Per::Port => Buckets::Port(Bucket::new(set)),
            Per::Flow => Buckets::Flows(PerFlow::new()),
        };
        Self { set, buckets, charged: None }
    }
}

impl Shaped {
    fn bucket(&mut self, flow: u32) -> &mut Bucket {
        match &mut self.buckets {
            Buckets::Port(bucket) => bucket,
            Buckets::Flows(flows) => flows.get_mut(flow).get_or_insert_with(|| Bucket::new(self.set)),
        }
    }
}

impl RankFn for Shaped {
    #[inline]
    fn rank(&mut self, packet: &Packet, _now: Time) -> Rank {
        packet.rank
    }

    fn eligible(&mut self, packet: &Packet, now: Time) -> Time {
        let bucket = self.bucket(packet.flow);
        let before = *bucket;
        let release = bucket.release(packet.size, now);
        self.charged = Some((packet.id, before));
        release
    }

    fn on_drop(&mut self, packet: &Packet, _now: Time) {
        if let Some((_, before)) = self.charged.take_if(|(id, _)| *id == packet.id) {
            *self.bucket(packet.flow) = before;
        }
    }

    fn needs(&self) -> Facts {
        Facts::one(Fact::CarriedRank)
    }

    fn forget_flow(&mut self, flow: u32) {
        if let Buckets::Flows(flows) = &mut self.buckets {
            *flows.get_mut(flow) = None;
        }
    }

    fn flow_bytes(&self) -> usize {
        match &self.buckets {
            Buckets::Port(_) => 0,
            Buckets::Flows(flows) => flows.flow_bytes(),
        }
    }
}

const RATE: Param = Param::new("rate_gbps", Kind::Positive)
    .unit("Gb/s")
    .or_integer(1)
    .doc("The rate of tokens. No rate is usual; the default is that of a slow port.");

const BURST: Param = Param::integer("burst_bytes", 1, params::MAX_BYTES)
    .unit("bytes")
    .or_integer(1_514)
    .doc("The most tokens that accumulate. The default is a full Ethernet frame.");

const PER: Param = Param::choice::<Per>("per").or_word(Per::Port.word()).doc("The unit that a bucket serves.");

impl FromArgs for Shaped {
    const INFO: Info = Info {
        name: "token-bucket",
        summary: "The carried rank; a packet may leave once a token bucket pays for it.",
        paper: "SIGCOMM 2016, Fig. 4c; PIEO, SIGCOMM 2019, section 4",
        effect: "Limits the port or each flow to a rate; only PIEO reads the times that it gives.",
        state: "tokens and a time for each bucket",
        cost: "O(1)",
        params: &[RATE, BURST, PER],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let rate = params::read_gbps(args, &RATE)?.expect("it has a default");
        Ok(Self::new(TokenBucket { rate, burst: Bytes(args.given(&BURST)?) }, args.given(&PER)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{Pieo, PieoParams};
    use crate::{Capacity, Dequeued, Ranked, Scheduler};
    use alloc::vec::Vec;
    use pifolab_units::Rate;

    /// The departures from PIEO of packets that arrive together, as (time in us, flow).
    fn departures(per: Per, flows: &[u32]) -> Vec<(u64, u32)> {
        // 8 Mb/s: a byte takes a microsecond.
        let set = TokenBucket { rate: Rate::from_bps(8_000_000).unwrap(), burst: Bytes(2_000) };
        let pieo: Pieo = Pieo::new(PieoParams { capacity: Capacity::Unlimited }).unwrap();
        let mut scheduler = Ranked::new(Shaped::new(set, per), pieo);
        for (id, flow) in (0..).zip(flows) {
            let packet = Packet { id, flow: *flow, size: 1_000, rank: Rank::from(9 - *flow), arrival: Time::ZERO };
            assert!(scheduler.enqueue(packet, Time::ZERO).is_admitted());
        }
        let (mut now, mut sent) = (Time::ZERO, Vec::new());
        loop {
            match Scheduler::<Packet>::dequeue(&mut scheduler, now) {
                Dequeued::Packet { packet, .. } => sent.push((now.as_ns() / 1_000, packet.flow)),
                Dequeued::NotBefore(time) => {
                    assert!(time > now, "a time that has passed would be asked for twice");
                    now = time;
                }
                _ => return sent,
            }
        }
    }

    #[test]
    fn a_port_sends_its_burst_and_then_its_rate_and_the_lowest_rank_of_what_may_leave() {
        assert_eq!(departures(Per::Port, &[0, 1, 2, 3]), [(0, 1), (0, 0), (1_000, 2), (2_000, 3)]);
    }

    #[test]
    fn a_refused_packet_gives_its_tokens_back() {
        let set = TokenBucket { rate: Rate::from_bps(8_000_000).unwrap(), burst: Bytes(1_000) };
        let mut shaped = Shaped::new(set, Per::Port);
        let packet = |id| Packet { id, flow: 0, size: 1_000, rank: Rank::ZERO, arrival: Time::ZERO };
        assert_eq!(shaped.eligible(&packet(0), Time::ZERO), Time::ZERO);
        let late = shaped.eligible(&packet(1), Time::ZERO);
        shaped.on_drop(&packet(1), Time::ZERO);
        assert_eq!(shaped.eligible(&packet(2), Time::ZERO), late);
        // The first packet is pushed out after others got their times.
        shaped.on_drop(&packet(0), Time::ZERO);
        assert!(shaped.eligible(&packet(3), Time::ZERO) > late);
    }

    #[test]
    fn each_flow_has_a_bucket_of_its_own() {
        assert_eq!(departures(Per::Flow, &[0, 1, 0, 1, 0]), [(0, 1), (0, 1), (0, 0), (0, 0), (1_000, 0)]);
    }
}
