//! Parameters that change while the data plane is up.

use crate::life::{Lab, tool};
use crate::traffic::packet_socket;
use crate::{arguments, can_run};
use pifolab_dataplane::Error;
use pifolab_dataplane::ebpf::harness::frame;
use pifolab_dataplane::ebpf::snapshot::Registers;
use pifolab_dataplane::ebpf::{Occupancy, Plane, PlaneConfig, RankSource, Settings, Snapshot};
use std::os::fd::AsRawFd;

fn settings(scheduler: &str, parameters: &str) -> Settings {
    Settings::new(scheduler, arguments(scheduler, parameters), RankSource::Dscp, Occupancy::Walk).expect("valid")
}

fn up(scheduler: &str, parameters: &str) -> Plane {
    let settings = settings(scheduler, parameters);
    let config = PlaneConfig { interface: "v0".to_owned(), rate_bps: 100_000_000, settings, force: false };
    Plane::up(config).expect("it comes up")
}

/// Sends a frame of each DSCP; what they find in the queues does not matter here.
fn send(ranks: std::ops::Range<u8>) {
    let socket = packet_socket("v0");
    for rank in ranks {
        let frame = frame(0, rank);
        // SAFETY: the frame is as long as said.
        unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    }
}

/// The ranks of the window that the test sent.
fn window(snapshot: &Snapshot) -> Vec<u64> {
    match &snapshot.registers {
        Registers::Window(ranks) => ranks.iter().copied().filter(|rank| *rank > 0).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn parameters_change_while_it_is_up_and_window_and_statistics_stay() {
    if !can_run("parameters_change_while_it_is_up_and_window_and_statistics_stay") {
        return;
    }
    let _lab = Lab::new();
    for scheduler in ["aifo", "packs"] {
        let mut plane = up(scheduler, "window=20 k=0.9");
        send(1..41);
        let before = plane.snapshot().expect("a snapshot");
        assert!(window(&before).ends_with(&(35..41).collect::<Vec<_>>()), "{scheduler}: {before}");
        assert!(before.admitted() >= 20, "{scheduler}: {before}");

        // A longer window, a shorter one, and another k.
        plane.change(settings(scheduler, "window=100 k=0.9")).expect("it can be changed");
        assert_eq!(plane.loaded().config().window, 100);
        assert!(window(&plane.snapshot().expect("a snapshot")).starts_with(&window(&before)), "{scheduler}");
        send(41..51);
        plane.change(settings(scheduler, "window=8 k=0.5")).expect("it can be changed");
        let after = plane.snapshot().expect("a snapshot");
        assert!(window(&after).ends_with(&[48, 49, 50]), "{scheduler}: {after}");
        assert!(
            after.admitted() + after.dropped() >= before.admitted() + before.dropped() + 10,
            "{scheduler}: {after}"
        );
        // There is one filter, with the new program.
        let root = String::from_utf8_lossy(&tool("tc", "filter show dev v0").stdout).into_owned();
        assert_eq!(root.matches("pifolab:").count(), 1, "{root}");
        send(51..54);
        assert!(window(&plane.snapshot().expect("a snapshot")).ends_with(&[51, 52, 53]), "the new program decides");
    }
}

#[test]
fn bounds_of_sp_pifo_stay_and_what_takes_a_new_start_is_refused_and_changes_nothing() {
    if !can_run("bounds_of_sp_pifo_stay_and_what_takes_a_new_start_is_refused_and_changes_nothing") {
        return;
    }
    let _lab = Lab::new();
    let mut plane = up("sp-pifo", "queues=4 queue_capacity_packets=50");
    send(1..41);
    let bounds = |plane: &Plane| -> Vec<_> {
        plane.snapshot().expect("a snapshot").queues.iter().map(|queue| queue.bound).collect()
    };
    let before = bounds(&plane);
    assert!(before.iter().any(|bound| bound.is_some_and(|bound| bound > 0)), "{before:?}");
    plane.change(settings("sp-pifo", "queues=4 queue_capacity_packets=50 on_full=update")).expect("it can be changed");
    assert_eq!((bounds(&plane), plane.loaded().config().update_on_full), (before.clone(), 1));
    for parameters in ["queues=5 queue_capacity_packets=50", "queues=4 queue_capacity_packets=51"] {
        let refused = plane.change(settings("sp-pifo", parameters)).expect_err("refused");
        assert!(matches!(refused, Error::Unsupported(_)), "{refused}");
        assert_eq!((bounds(&plane), plane.loaded().config().update_on_full), (before.clone(), 1));
    }
}
