//! The controllers that there are.

use crate::control::{Ack, BoxedController, Controller, Window};
use crate::{cubic::Cubic, dctcp::Dctcp, newreno::NewReno};
use core::fmt;
use pifolab_units::Time;

/// The closed set of controllers, so that a connection is one flat value, and a way out of it.
pub enum AnyController {
    /// [`NewReno`]
    NewReno(NewReno),
    /// [`Dctcp`]
    Dctcp(Dctcp),
    /// [`Cubic`]
    Cubic(Cubic),
    /// Any other.
    Other(BoxedController),
}

impl fmt::Debug for AnyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewReno(controller) => controller.fmt(f),
            Self::Dctcp(controller) => controller.fmt(f),
            Self::Cubic(controller) => controller.fmt(f),
            Self::Other(_) => f.write_str("Other(..)"),
        }
    }
}

impl Controller for AnyController {
    fn on_new_ack(&mut self, window: &mut Window, ack: &Ack) {
        match self {
            Self::NewReno(controller) => controller.on_new_ack(window, ack),
            Self::Dctcp(controller) => controller.on_new_ack(window, ack),
            Self::Cubic(controller) => controller.on_new_ack(window, ack),
            Self::Other(controller) => controller.on_new_ack(window, ack),
        }
    }

    fn on_any_ack(&mut self, window: &mut Window, ack: &Ack) {
        match self {
            Self::NewReno(controller) => controller.on_any_ack(window, ack),
            Self::Dctcp(controller) => controller.on_any_ack(window, ack),
            Self::Cubic(controller) => controller.on_any_ack(window, ack),
            Self::Other(controller) => controller.on_any_ack(window, ack),
        }
    }

    fn on_loss(&mut self, window: &mut Window, flight_bytes: u64, now: Time) {
        match self {
            Self::NewReno(controller) => controller.on_loss(window, flight_bytes, now),
            Self::Dctcp(controller) => controller.on_loss(window, flight_bytes, now),
            Self::Cubic(controller) => controller.on_loss(window, flight_bytes, now),
            Self::Other(controller) => controller.on_loss(window, flight_bytes, now),
        }
    }

    fn on_timeout(&mut self, window: &mut Window, flight_bytes: f64, now: Time) {
        match self {
            Self::NewReno(controller) => controller.on_timeout(window, flight_bytes, now),
            Self::Dctcp(controller) => controller.on_timeout(window, flight_bytes, now),
            Self::Cubic(controller) => controller.on_timeout(window, flight_bytes, now),
            Self::Other(controller) => controller.on_timeout(window, flight_bytes, now),
        }
    }
}
