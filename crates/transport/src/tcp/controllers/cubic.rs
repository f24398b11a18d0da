//! CUBIC: the window grows as a cubic function of the time since the last loss.
//!
//! Paper: Ha, Rhee, Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", 2008; RFC 9438.
//! Parameters: C = 0.4 segments/s^3 and beta = 0.7 from RFC 9438, section 4.1.3 and 4.6 (constants here).
//! Cost: O(1) per acknowledgement, one cube root per loss.
//! Deviations: no HyStart; fast convergence as in RFC 9438, section 4.7; spurious timeouts are not undone.

use crate::tcp::{Ack, Controller, Window};
use pifolab_units::Time;

/// C of RFC 9438 in segments per cubic second.
const C: f64 = 0.4;
/// Multiplicative decrease of RFC 9438.
const BETA: f64 = 0.7;

/// CUBIC's state. Windows in segments, times in seconds.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    w_max: f64,
    k_s: f64,
    /// The start time of the current growth epoch.
    epoch: Option<Time>,
    /// The estimated window of Reno (RFC 9438, section 4.3).
    w_est: f64,
}

impl Cubic {
    fn remember_loss(&mut self, cwnd: f64) {
        // Fast convergence: a flow with a loss below its old maximum window leaves room for other flows.
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.epoch = None;
    }

    fn begin_epoch(&mut self, now: Time, cwnd: f64) {
        self.epoch = Some(now);
        self.w_est = cwnd;
        self.k_s = if cwnd < self.w_max { cube_root((self.w_max - cwnd) / C) } else { 0.0 };
        self.w_max = self.w_max.max(cwnd);
    }
}

/// Newton's method from a power of two. Basic operations only, so the result is identical on every machine.
fn cube_root(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let mut root = 1.0;
    while root * root * root < value {
        root *= 2.0;
    }
    for _ in 0..64 {
        let next = (2.0 * root + value / (root * root)) / 3.0;
        if next >= root {
            break;
        }
        root = next;
    }
    root
}

impl Controller for Cubic {
    fn on_new_ack(&mut self, window: &mut Window, ack: &Ack) {
        if window.cwnd < window.ssthresh {
            window.grow_like_reno();
            return;
        }
        let cwnd = window.cwnd / window.mss;
        if self.epoch.is_none() {
            self.begin_epoch(ack.now, cwnd);
        }
        let elapsed_s = ack.now.since(self.epoch.expect("begun above")).as_s_f64();
        let offset = elapsed_s + ack.rtt_s - self.k_s;
        let target = (C * offset * offset * offset + self.w_max).clamp(cwnd, 1.5 * cwnd);
        let alpha = if self.w_est < self.w_max { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        self.w_est += alpha * (ack.newly_bytes as f64 / window.mss) / cwnd;
        let next = (cwnd + (target - cwnd) / cwnd).max(self.w_est);
        window.cwnd = (next * window.mss).min(window.limit);
    }

    fn on_loss(&mut self, window: &mut Window, _flight_bytes: u64, _now: Time) {
        self.remember_loss(window.cwnd / window.mss);
        window.ssthresh = (window.cwnd * BETA).max(2.0 * window.mss);
    }

    fn on_timeout(&mut self, window: &mut Window, _flight_bytes: u64, _now: Time) {
        self.remember_loss(window.cwnd / window.mss);
        window.ssthresh = (window.cwnd * BETA).max(2.0 * window.mss);
        window.cwnd = window.mss;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_units::Span;

    #[test]
    fn regains_the_old_window_k_seconds_after_a_loss() {
        let mss = 1_000.0;
        let mut window = Window { cwnd: 400.0 * mss, ssthresh: 1.0, mss, limit: 1e12 };
        let mut controller = Cubic::default();
        controller.on_loss(&mut window, 0, Time::ZERO);
        assert_eq!(window.ssthresh, 280.0 * mss);
        window.cwnd = window.ssthresh;
        // K = cube root of (400 - 280) / 0.4 = 6.694 s.
        let k_s = 6.694;
        let mut now = Time::ZERO;
        let rtt = Span::from_us(200_000);
        let mut before = 0.0;
        while now.as_s_f64() < k_s + 1.0 {
            for _ in 0..(window.cwnd / mss) as u64 {
                let ack =
                    Ack { now, upto_bytes: 0, newly_bytes: 1_000, sent_bytes: 0, marked: false, rtt_s: rtt.as_s_f64() };
                controller.on_new_ack(&mut window, &ack);
            }
            if now.as_s_f64() < k_s {
                before = window.cwnd / mss;
            }
            now += rtt;
        }
        assert!((395.0..401.0).contains(&before), "{before}");
        assert!(window.cwnd / mss > 400.0, "probes beyond the old window: {}", window.cwnd / mss);
    }

    #[test]
    fn cube_roots_are_exact_where_they_can_be() {
        for root in [1.0, 2.0, 3.0, 10.0, 123.0] {
            assert!((cube_root(root * root * root) - root).abs() < 1e-9);
        }
        assert_eq!(cube_root(0.0), 0.0);
    }
}
