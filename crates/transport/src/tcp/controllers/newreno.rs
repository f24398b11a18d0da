//! NewReno: slow start, additive increase, halving on loss.
//!
//! Papers: RFC 5681 (congestion control), RFC 6582 (NewReno).
//! Parameters: those of [`TcpParams`](crate::TcpParams).
//! Cost: O(1) per acknowledgement; no state outside of the window.
//! Deviations: the window grows per acknowledgement, not per byte acknowledged (RFC 5681 allows both); there are no
//! delayed acknowledgements.

use crate::tcp::{Ack, Controller, Window};
use pifolab_units::Time;

/// NewReno. All state is in the [`Window`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno;

/// Sets the threshold to half the flight, at least two segments (RFC 5681, equation 4). Whole bytes, as in kernels.
pub(crate) fn halve_on_loss(window: &mut Window, flight_bytes: u64) {
    window.ssthresh = ((flight_bytes / 2) as f64).max(2.0 * window.mss);
}

/// Sets the threshold to half the flight and the window to one segment (RFC 5681, section 3.1).
pub(crate) fn restart_on_timeout(window: &mut Window, flight_bytes: u64) {
    window.ssthresh = (flight_bytes as f64 / 2.0).max(2.0 * window.mss);
    window.cwnd = window.mss;
}

impl Controller for NewReno {
    fn on_new_ack(&mut self, window: &mut Window, _ack: &Ack) {
        window.grow_like_reno();
    }

    fn on_loss(&mut self, window: &mut Window, flight_bytes: u64, _now: Time) {
        halve_on_loss(window, flight_bytes);
    }

    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64, _now: Time) {
        restart_on_timeout(window, flight_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack() -> Ack {
        Ack { now: Time::ZERO, upto_bytes: 0, newly_bytes: 0, sent_bytes: 0, marked: false, rtt_s: 0.0 }
    }

    #[test]
    fn doubles_per_window_below_the_threshold_and_adds_one_segment_above() {
        let mut window = Window { cwnd: 3_000.0, ssthresh: 6_000.0, mss: 1_000.0, limit: 1e9 };
        for _ in 0..3 {
            NewReno.on_new_ack(&mut window, &ack());
        }
        assert_eq!(window.cwnd, 6_000.0);
        for _ in 0..6 {
            NewReno.on_new_ack(&mut window, &ack());
        }
        assert!((6_900.0..7_000.0).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn never_falls_below_two_segments_on_loss_nor_one_on_timeout() {
        let mut window = Window { cwnd: 3_000.0, ssthresh: 1e9, mss: 1_000.0, limit: 1e9 };
        NewReno.on_loss(&mut window, 3_000, Time::ZERO);
        assert_eq!(window.ssthresh, 2_000.0);
        NewReno.on_timeout(&mut window, 9_000, Time::ZERO);
        assert_eq!((window.cwnd, window.ssthresh), (1_000.0, 4_500.0));
    }
}
