//! What a control plane does to a scheduler while packets pass.

use crate::{Enqueued, Item, Packet, Scheduler};
use pifolab_units::{Rank, Time};

/// The side of a scheduler that a control plane sees: a program that runs for long reuses the numbers of flows that have ended,
/// and puts a scheduler with other parameters in the place of one that holds packets.
///
/// The functions of this module do the same to any scheduler, whether it has this side or not.
pub trait ControlPlane<T: Item = Packet> {
    /// Forgets what is remembered of `flow`: its number will be another flow's. Only what rank functions remember is
    /// meant, not packets.
    fn forget_flow(&mut self, flow: u32) {
        let _ = flow;
    }

    /// Takes over a packet that waits in `queue` of another scheduler of the same name: into the same queue, or the last one if
    /// there are fewer, without a decision, as long as there is room. One without such queues enqueues it.
    fn take_over(&mut self, packet: T, queue: u32, now: Time) -> Enqueued<T>;

    /// Goes on with the window and the state that [`visit_window`](crate::Inspect::visit_window) and
    /// [`visit_state`](crate::Inspect::visit_state) show of another scheduler of the same name: for one that takes its place with
    /// other parameters. What does not fit is left out; the packets are not meant. Nothing happens where the algorithm remembers
    /// nothing, or does not say how.
    fn resume(&mut self, window: &[Rank], state: &[i64]) {
        let _ = (window, state);
    }
}

/// Has `scheduler` forget a flow: see [`ControlPlane::forget_flow`].
pub fn forget_flow<T: Item, S: Scheduler<T> + ?Sized>(scheduler: &mut S, flow: u32) {
    if let Some(control) = scheduler.control_plane() {
        control.forget_flow(flow);
    }
}

/// Has `scheduler` take over a packet: see [`ControlPlane::take_over`]. One without a control plane enqueues it.
pub fn take_over<T: Item, S: Scheduler<T> + ?Sized>(
    scheduler: &mut S,
    packet: T,
    queue: u32,
    now: Time,
) -> Enqueued<T> {
    match scheduler.control_plane() {
        Some(control) => control.take_over(packet, queue, now),
        None => scheduler.enqueue(packet, now),
    }
}

/// Has `scheduler` go on with the state of another one: see [`ControlPlane::resume`].
pub fn resume<T: Item, S: Scheduler<T> + ?Sized>(scheduler: &mut S, window: &[Rank], state: &[i64]) {
    if let Some(control) = scheduler.control_plane() {
        control.resume(window, state);
    }
}
