//! The list of congestion controllers: one file each, and one line each below.

pub mod cubic;
pub mod dctcp;
pub mod newreno;

use crate::tcp::{Ack, BoxedController, Controller, Window};
use core::fmt;
use cubic::Cubic;
use dctcp::Dctcp;
use newreno::NewReno;
use pifolab_units::Time;

macro_rules! controllers {
    (
        plain: $($plain:ident = $word:literal: $meaning:literal),+;
        with_parameters: $($other:ident),+;
    ) => {
        pifolab_params::choices! {
            /// A controller that has no parameters.
            #[derive(Hash)]
            pub enum PlainController {
                $(#[doc = $meaning] $plain = $word: $meaning),+
            }
        }

        impl PlainController {
            /// Creates the controller in its initial state.
            pub(crate) fn controller(self) -> AnyController {
                match self {
                    $(Self::$plain => AnyController::$plain($plain::default())),+
                }
            }
        }

        /// All controllers of this crate in one enum, so that a connection is one flat value, and a variant for any
        /// other.
        pub enum AnyController {
            $(#[doc = concat!("[`", stringify!($plain), "`]")] $plain($plain),)+
            $(#[doc = concat!("[`", stringify!($other), "`]")] $other($other),)+
            /// A controller from outside of this crate.
            Other(BoxedController),
        }

        impl fmt::Debug for AnyController {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$plain(controller) => controller.fmt(f),)+
                    $(Self::$other(controller) => controller.fmt(f),)+
                    Self::Other(_) => f.write_str("Other(..)"),
                }
            }
        }

        impl Controller for AnyController {
            fn on_new_ack(&mut self, window: &mut Window, ack: &Ack) {
                match self {
                    $(Self::$plain(controller) => controller.on_new_ack(window, ack),)+
                    $(Self::$other(controller) => controller.on_new_ack(window, ack),)+
                    Self::Other(controller) => controller.on_new_ack(window, ack),
                }
            }

            fn on_any_ack(&mut self, window: &mut Window, ack: &Ack) {
                match self {
                    $(Self::$plain(controller) => controller.on_any_ack(window, ack),)+
                    $(Self::$other(controller) => controller.on_any_ack(window, ack),)+
                    Self::Other(controller) => controller.on_any_ack(window, ack),
                }
            }

            fn on_loss(&mut self, window: &mut Window, flight_bytes: u64, now: Time) {
                match self {
                    $(Self::$plain(controller) => controller.on_loss(window, flight_bytes, now),)+
                    $(Self::$other(controller) => controller.on_loss(window, flight_bytes, now),)+
                    Self::Other(controller) => controller.on_loss(window, flight_bytes, now),
                }
            }

            fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64, now: Time) {
                match self {
                    $(Self::$plain(controller) => controller.on_timeout(window, flight_bytes, now),)+
                    $(Self::$other(controller) => controller.on_timeout(window, flight_bytes, now),)+
                    Self::Other(controller) => controller.on_timeout(window, flight_bytes, now),
                }
            }
        }
    };
}

controllers! {
    plain:
        NewReno = "newreno": "TCP NewReno",
        Cubic = "cubic": "TCP CUBIC";
    with_parameters: Dctcp;
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_params::Choice;

    /// Checks the contract of [`Controller`]: the window stays within its limit, and the threshold is at least two
    /// segments.
    #[test]
    fn every_controller_keeps_its_window_within_its_limits() {
        for plain in PlainController::ALL {
            let mut controller = plain.controller();
            let mut window = Window { cwnd: 1_000.0, ssthresh: 1e9, mss: 1_000.0, limit: 10_000.0 };
            let sane = |window: &Window, what: &str| {
                let name = plain.word();
                assert!((1_000.0..=10_000.0).contains(&window.cwnd), "{name}: cwnd = {} after {what}", window.cwnd);
                assert!(window.ssthresh >= 2_000.0, "{name}: ssthresh = {} after {what}", window.ssthresh);
            };
            for round in 0..2_000 {
                let (now, upto_bytes) = (Time::from_ns(1_000_000 * round), 1_000 * round);
                let ack =
                    Ack { now, upto_bytes, newly_bytes: 1_000, sent_bytes: upto_bytes, marked: false, rtt_s: 0.001 };
                controller.on_any_ack(&mut window, &ack);
                controller.on_new_ack(&mut window, &ack);
                sane(&window, "an acknowledgement");
                // Long enough to reach the limit by one segment per window. The later rounds lose with one segment in
                // flight.
                if round % 500 == 499 {
                    let flight = if round < 1_000 { window.cwnd } else { window.mss } as u64;
                    controller.on_loss(&mut window, flight, now);
                    // At the end of recovery the sender sets the window to the threshold.
                    window.cwnd = window.ssthresh;
                    sane(&window, "a loss");
                    controller.on_timeout(&mut window, flight, now);
                    sane(&window, "a timeout");
                }
            }
        }
    }
}
