//! The receiving end: handshake, reassembly, one acknowledgement per segment.

use super::{RttEstimator, SackLog, Setup};
use crate::{AckRank, Arrivals, Flags, Segment, Timer};
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
    ack_rank: AckRank,
    arrived: Arrivals,
    segment_bytes: u32,
    size_bytes: u64,
    rtt: RttEstimator,
    timer: Timer,
    timeouts: u32,
    /// Whether a mark is echoed in every acknowledgement until the sender confirms a cut (RFC 3168, section 6.1.3).
    latches_marks: bool,
    echoes: bool,
}

impl Receiver {
    /// Creates the receiver of a flow of `size_bytes`.
    pub fn new(setup: &Setup, size_bytes: u64) -> Self {
        let tcp = &setup.tcp;
        Self {
            state: if tcp.handshake { State::Listen } else { State::Established },
            accept_data_in_handshake: tcp.accept_data_in_handshake,
            ack_rank: setup.ack_rank,
            arrived: Arrivals::of(size_bytes.div_ceil(tcp.mss_bytes.into()) as u32),
            segment_bytes: tcp.mss_bytes,
            size_bytes,
            rtt: RttEstimator::new(tcp.initial_rto, tcp.min_rto, tcp.max_rto),
            timer: Timer::default(),
            timeouts: 0,
            latches_marks: setup.ecn,
            echoes: false,
        }
    }

    /// Handles a segment that arrived at `now`; returns the answer to send, if any.
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
                self.timer.stop();
            }
            State::Established => {}
        }
        if segment.payload_bytes == 0 {
            return None;
        }
        if self.latches_marks {
            // CWR refers to an earlier mark, so it is applied before this segment's own mark.
            self.echoes &= !segment.flags.has(Flags::CWR);
            self.echoes |= segment.flags.has(Flags::CE);
        }
        if self.arrived.take(segment.seq) {
            log.record(segment.seq);
        }
        Some(self.acknowledge(segment, log))
    }

    /// Handles the expiry of the timer: sends the handshake's answer again.
    pub fn handle_timeout(&mut self, now: Time) -> Option<Segment> {
        if !self.timer.has_expired(now) {
            return None;
        }
        self.timeouts += 1;
        self.rtt.back_off();
        self.arm(now);
        Some(self.syn_ack(now))
    }

    fn arm(&mut self, now: Time) {
        self.timer.set(now.saturating_add(self.rtt.rto()));
    }

    fn rank(&self) -> Rank {
        match self.ack_rank {
            AckRank::Zero => Rank::ZERO,
            AckRank::Remaining => Rank::saturating(
                self.size_bytes.saturating_sub(u64::from(self.arrived.next()) * u64::from(self.segment_bytes)),
            ),
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
            ack: self.arrived.next(),
            sack: log.position(),
            flags,
        }
    }

    /// The receiver's timer.
    pub fn timer(&self) -> Timer {
        self.timer
    }

    /// The number of expiries of the timer.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// The number of segments that arrived, for the first time, after a segment with a higher number.
    pub fn reordered(&self) -> u32 {
        self.arrived.reordered()
    }
}
