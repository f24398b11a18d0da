//! The congestion controllers that there are: one file each, and one line each below.

pub mod cubic;
pub mod dctcp;
pub mod newreno;

use crate::control::{Ack, BoxedController, Controller, Window};
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
            /// A fresh one.
            pub(crate) fn controller(self) -> AnyController {
                match self {
                    $(Self::$plain => AnyController::$plain($plain::default())),+
                }
            }
        }

        /// The closed set of controllers, so that a connection is one flat value, and a way out of it.
        pub enum AnyController {
            $(#[doc = concat!("[`", stringify!($plain), "`]")] $plain($plain),)+
            $(#[doc = concat!("[`", stringify!($other), "`]")] $other($other),)+
            /// Any other.
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

            fn on_timeout(&mut self, window: &mut Window, flight_bytes: f64, now: Time) {
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
