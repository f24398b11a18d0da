//! What a control plane does to a scheduler while packets pass, whether it is a [`ControlPlane`](crate::ControlPlane) or not.

use crate::{Enqueued, Item, Scheduler};
use pifolab_units::{Rank, Time};

/// Has `scheduler` forget a flow: see [`ControlPlane::forget_flow`](crate::ControlPlane::forget_flow).
pub fn forget_flow<T: Item, S: Scheduler<T> + ?Sized>(scheduler: &mut S, flow: u32) {
    if let Some(control) = scheduler.control_plane() {
        control.forget_flow(flow);
    }
}

/// Has `scheduler` take over a packet: see [`ControlPlane::take_over`](crate::ControlPlane::take_over). One without a control plane enqueues it.
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

/// Has `scheduler` go on with the state of another one: see [`ControlPlane::resume`](crate::ControlPlane::resume).
pub fn resume<T: Item, S: Scheduler<T> + ?Sized>(scheduler: &mut S, window: &[Rank], state: &[i64]) {
    if let Some(control) = scheduler.control_plane() {
        control.resume(window, state);
    }
}
