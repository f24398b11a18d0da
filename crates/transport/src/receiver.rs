//! The receiving end: handshake, reassembly, one acknowledgement per segment.

use crate::{AckRank, Congestion, Flags, RttEstimator, SackLog, Segment, SegmentSet, ValidParams};
use pifolab_units::{Rank, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Listen,
    SynReceived,
    Established,
}

/// The receiving end of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    state: State,
    accept_data_in_handshake: bool,
    datagrams: bool,
    ack_rank: AckRank,
    /// The first segment that has not arrived in order.
    next: u32,
    segments: u32,
    /// One past the highest segment that has arrived.
    highest: u32,
    reordered: u32,
    segment_bytes: u32,
    size_bytes: u64,
    arrived: SegmentSet,
    rtt: RttEstimator,
    deadline: Option<Time>,
    arms: u32,
    timeouts: u32,
    /// Echoes a mark in every acknowledgement until the sender says that it has cut its window (RFC 3168, section 6.1.3).
    latches_marks: bool,
    echoes: bool,
}

impl Receiver {
    /// The end that waits for a flow of `size_bytes`.
    pub fn new(params: &ValidParams, size_bytes: u64) -> Self {
        let tcp = &params.params().tcp;
        let datagrams = matches!(params.params().congestion, Congestion::Udp(_));
        Self {
            state: if datagrams { State::Established } else { State::Listen },
            accept_data_in_handshake: tcp.accept_data_in_handshake,
            datagrams,
            ack_rank: params.params().ack_rank,
            next: 0,
            segments: size_bytes.div_ceil(params.segment_bytes().into()) as u32,
            highest: 0,
            reordered: 0,
            segment_bytes: params.segment_bytes(),
            size_bytes,
            arrived: SegmentSet::default(),
            rtt: RttEstimator::new(tcp.initial_rto, tcp.min_rto, tcp.max_rto),
            deadline: None,
            arms: 0,
            timeouts: 0,
            latches_marks: params.params().has_classic_ecn(),
            echoes: false,
        }
    }

    /// Takes a segment that arrived at `now`; returns the answer to send, if any.
    pub fn handle_segment(&mut self, segment: &Segment, log: &mut SackLog, now: Time) -> Option<Segment> {
        if segment.flags.has(Flags::SYN) {
            return match self.state {
                State::Listen => {
                    self.state = State::SynReceived;
                    self.arm(now);
                    Some(self.syn_ack(now))
                }
                State::SynReceived => None,
                State::Established => Some(self.acknowledge(segment, log)),
            };
        }
        match self.state {
            State::Listen => return None,
            State::SynReceived => {
                if segment.payload_bytes > 0 && !self.accept_data_in_handshake {
                    return None;
                }
                self.state = State::Established;
                self.deadline = None;
            }
            State::Established => {}
        }
        if segment.payload_bytes == 0 {
            return None;
        }
        if self.latches_marks {
            // A mark counts after what the sender says, which is of an earlier one.
            self.echoes &= !segment.flags.has(Flags::CWR);
            self.echoes |= segment.flags.has(Flags::CE);
        }
        self.take_data(segment.seq, log);
        (!self.datagrams).then(|| self.acknowledge(segment, log))
    }

    fn take_data(&mut self, number: u32, log: &mut SackLog) {
        if number < self.highest {
            self.reordered += u32::from(!self.arrived.contains(number));
        } else {
            self.highest = number + 1;
        }
        if number == self.next {
            self.next = if self.highest == number + 1 { number + 1 } else { self.arrived.next_missing(number + 1) };
            self.arrived.advance(self.next);
        } else if number > self.next && self.arrived.insert(number) && !self.datagrams {
            log.record(number);
        }
    }

    /// Handles the expiry of the timer: the handshake's answer is sent again.
    pub fn handle_timeout(&mut self, now: Time) -> Option<Segment> {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return None;
        }
        self.timeouts += 1;
        self.rtt.back_off();
        self.arm(now);
        Some(self.syn_ack(now))
    }

    fn arm(&mut self, now: Time) {
        self.deadline = Some(now.saturating_add(self.rtt.rto()));
        self.arms = self.arms.wrapping_add(1);
    }

    fn rank(&self) -> Rank {
        match self.ack_rank {
            AckRank::Zero => Rank::ZERO,
            AckRank::Remaining => {
                Rank::saturating(self.size_bytes.saturating_sub(u64::from(self.next) * u64::from(self.segment_bytes)))
            }
        }
    }

    fn syn_ack(&self, now: Time) -> Segment {
        let flags = Flags::SYN.with(Flags::ACK).with(Flags::REVERSE);
        Segment { stamp: now, rank: self.rank(), seq: 0, payload_bytes: 0, ack: 0, sack: 0, flags }
    }

    fn acknowledge(&self, segment: &Segment, log: &SackLog) -> Segment {
        let mut flags = Flags::ACK.with(Flags::REVERSE);
        let echoes = if self.latches_marks { self.echoes } else { segment.flags.has(Flags::CE) };
        if echoes {
            flags = flags.with(Flags::ECE);
        }
        Segment {
            stamp: segment.stamp,
            rank: self.rank(),
            seq: 0,
            payload_bytes: 0,
            ack: self.next,
            sack: log.position(),
            flags,
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// How often the timer was set so far (for engines that keep one event per setting).
    pub fn arms(&self) -> u32 {
        self.arms
    }

    /// How often the timer expired.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Whether every byte has arrived.
    pub fn is_complete(&self) -> bool {
        self.next == self.segments
    }

    /// Segments that arrived, for the first time, after one with a higher number.
    pub fn reordered(&self) -> u32 {
        self.reordered
    }
}
