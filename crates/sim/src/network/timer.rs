//! The timers of connections, as the event queue sees them.

use super::event::{Event, Packed};
use super::mode::Mode;
use crate::event_queue::{EventId, EventQueue};
use pifolab_units::Time;

/// What the event queue holds for one timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    /// The event that will look at the timer, and when.
    pub(super) pending: Option<(Time, EventId)>,
    /// Settings that have events, where each has one.
    arms: u32,
}

impl Timer {
    pub(super) const IDLE: Self = Self { pending: None, arms: 0 };

    /// Keeps the event queue informed about a timer that was set `arms` times: one event that is moved late, or one for every
    /// setting.
    #[inline(always)]
    pub(super) fn keep<M: Mode>(
        &mut self,
        events: &mut EventQueue<Packed>,
        deadline: Option<Time>,
        arms: u32,
        event: impl Fn(u32) -> Event,
        now: Time,
    ) {
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
            self.pending = Some((deadline, events.schedule(deadline.max(now), event(0).pack())));
        } else if let Some(deadline) = deadline {
            while self.arms != arms {
                self.arms = self.arms.wrapping_add(1);
                events.push(deadline, event(self.arms).pack());
            }
        } else {
            self.arms = arms;
        }
    }
}
