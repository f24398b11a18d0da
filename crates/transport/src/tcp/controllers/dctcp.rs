//! DCTCP: cuts the window in proportion to the fraction of marked bytes.
//!
//! Paper: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3; RFC 8257.
//! Parameters ([`DctcpParams`]): g, the gain of the moving average, in (0, 1], 1/16 from the paper; the initial value
//! of alpha, in [0, 1], 1 from RFC 8257 (0 in the paper's simulations); the rule for cuts of the window.
//! Cost: O(1) per acknowledgement; three counters and alpha per connection.
//! Deviations: acknowledgements are never delayed, so the paper's two-state echo machine is unnecessary. Each
//! acknowledgement echoes the mark of the segment that it acknowledges.

use super::newreno::{halve_on_loss, restart_on_timeout};
use crate::tcp::{Ack, Controller, Window};
use pifolab_params::{Kind, Param, ParamError};
use pifolab_units::Time;

pifolab_params::choices! {
    /// When a marked acknowledgement cuts the window.
    #[derive(Default)]
    pub enum Cut {
        /// At most once per window of data (RFC 8257, section 3.3). The default.
        #[default]
        OncePerWindow = "once-per-window": "at most once per window of data (RFC 8257)",
        /// On every marked acknowledgement, as the Netbench forks do.
        EveryMark = "every-mark": "on every marked acknowledgement",
    }
}

/// DCTCP's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DctcpParams {
    /// Gain g of the moving average of the marked fraction, in (0, 1].
    pub gain: f64,
    /// Initial value of alpha, in [0, 1].
    pub initial_alpha: f64,
    /// When a marked acknowledgement cuts the window.
    pub cut: Cut,
}

/// `gain`
pub const GAIN: Param = Param::new("gain", Kind::Positive)
    .means("0.0625")
    .doc("g, the gain of the moving average of the marked fraction, at most 1.");

/// `initial_alpha`
pub const INITIAL_ALPHA: Param = Param::new("initial_alpha", Kind::Share)
    .means("1; in the profiles 0")
    .doc("The marked fraction that is assumed at the start.");

/// `cut`
pub const CUT: Param = Param::choice::<Cut>("cut")
    .means("once-per-window; in the profiles every-mark")
    .doc("When a mark cuts the window.");

impl Default for DctcpParams {
    fn default() -> Self {
        Self { gain: 1.0 / 16.0, initial_alpha: 1.0, cut: Cut::OncePerWindow }
    }
}

impl DctcpParams {
    /// Checks every field.
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Err(GAIN.error_because("transport", self.gain, "expected above 0 and at most 1".to_owned()));
        }
        if !(0.0..=1.0).contains(&self.initial_alpha) {
            let expected = "expected from 0 to 1".to_owned();
            return Err(INITIAL_ALPHA.error_because("transport", self.initial_alpha, expected));
        }
        Ok(())
    }
}

/// DCTCP's state.
#[derive(Clone, Debug)]
pub struct Dctcp {
    gain: f64,
    cut: Cut,
    alpha: f64,
    acked_bytes: u64,
    marked_bytes: u64,
    /// The acknowledgement number that ends the observation window.
    observe_until: u64,
    /// The acknowledgement number from which the next cut is allowed.
    cut_again_at: u64,
}

impl Dctcp {
    /// Creates the state of a new connection.
    pub fn new(params: DctcpParams) -> Self {
        Self {
            gain: params.gain,
            cut: params.cut,
            alpha: params.initial_alpha,
            acked_bytes: 0,
            marked_bytes: 0,
            observe_until: 0,
            cut_again_at: 0,
        }
    }
}

impl Controller for Dctcp {
    fn on_new_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.marked {
            window.grow_like_reno();
        }
    }

    fn on_any_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.acked_bytes += ack.newly_bytes;
        if ack.marked {
            self.marked_bytes += ack.newly_bytes;
        }
        if ack.upto_bytes >= self.observe_until {
            let gain = self.gain;
            if self.acked_bytes > 0 {
                let fraction = self.marked_bytes as f64 / self.acked_bytes as f64;
                self.alpha = (1.0 - gain) * self.alpha + gain * fraction;
            }
            self.acked_bytes = 0;
            self.marked_bytes = 0;
            self.observe_until = ack.upto_bytes + window.cwnd as u64;
        }
        if ack.marked && (self.cut == Cut::EveryMark || ack.upto_bytes >= self.cut_again_at) {
            window.cwnd = (window.cwnd * (1.0 - self.alpha / 2.0)).max(window.mss);
            window.ssthresh = window.cwnd.max(2.0 * window.mss);
            // One past the data in flight, so that only an acknowledgement of data sent after this cut can cause
            // another.
            self.cut_again_at = ack.sent_bytes + 1;
        }
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

    fn ack(upto: u64, marked: bool) -> Ack {
        Ack { now: Time::ZERO, upto_bytes: upto, newly_bytes: 1_000, sent_bytes: upto + 9_000, marked, rtt_s: 0.0 }
    }

    fn window() -> Window {
        Window { cwnd: 10_000.0, ssthresh: 10_000.0, mss: 1_000.0, limit: 1e9 }
    }

    #[test]
    fn a_marked_window_cuts_once_or_at_every_mark() {
        for (cut, cuts) in [(Cut::OncePerWindow, 1), (Cut::EveryMark, 3)] {
            let mut controller = Dctcp::new(DctcpParams { cut, ..DctcpParams::default() });
            let mut window = window();
            for upto in [1_000, 2_000, 3_000] {
                controller.on_any_ack(&mut window, &ack(upto, true));
            }
            // alpha starts at 1 and stays 1 while all data is marked, so each cut halves the window.
            assert_eq!(window.cwnd, (10_000.0 / f64::powi(2.0, cuts)).max(1_000.0), "{cut:?}");
        }
    }

    #[test]
    fn alpha_decays_by_one_minus_g_per_unmarked_window() {
        let mut controller = Dctcp::new(DctcpParams::default());
        controller.on_any_ack(&mut window(), &ack(1_000, false));
        assert_eq!(controller.alpha, 15.0 / 16.0);
    }

    #[test]
    fn a_marked_acknowledgement_does_not_grow_the_window() {
        let mut controller = Dctcp::new(DctcpParams::default());
        let mut window = window();
        controller.on_new_ack(&mut window, &ack(1_000, true));
        assert_eq!(window.cwnd, 10_000.0);
        controller.on_new_ack(&mut window, &ack(1_000, false));
        assert_eq!(window.cwnd, 10_100.0);
    }
}
