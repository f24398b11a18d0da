//! The timers of connections, as the event queue sees them.

use super::event::{Event, Packed};
use super::mode::Mode;
use crate::event_queue::{EventId, EventQueue};
use pifolab_transport::End;
use pifolab_units::Time;

/// What the event queue holds for one timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    /// The event that will look at the timer, and when.
    pub(super) pending: Option<(Time, EventId)>,
    /// Settings that have events, where each has one.
    settings: u32,
}

impl Timer {
    pub(super) const IDLE: Self = Self { pending: None, settings: 0 };

    /// Keeps the event queue informed about the timer of an end of a flow: one event that is moved late, or one for every
    /// setting.
    #[inline(always)]
    pub(super) fn keep<M: Mode>(
        &mut self,
        events: &mut EventQueue<Packed>,
        pifolab_transport::Timer { deadline, settings }: pifolab_transport::Timer,
        flow: u32,
        end: End,
        now: Time,
    ) {
        let event = |setting| Event::Timer { end, flow, setting }.pack();
        if !M::STEPWISE {
            let Some(deadline) = deadline else { return };
            match self.pending {
                // It will look at the deadline again when it happens.
                Some((time, _)) if time <= deadline => return,
                Some((_, later)) => {
                    events.cancel(later);
                }
                None => {}
            }
            self.pending = Some((deadline, events.schedule(deadline.max(now), event(0))));
        } else if let Some(deadline) = deadline {
            while self.settings != settings {
                self.settings = self.settings.wrapping_add(1);
                events.push(deadline, event(self.settings));
            }
        } else {
            self.settings = settings;
        }
    }
}
