//! Packets lost outside of the scheduler: at the wires, the sockets and the rings of a testbed whose load exceeds its
//! processors. A run with more than a few such losses gives no information about the scheduler.

use super::namespace::{Lab, Namespace};
use serde::Serialize;
use serde_json::Value;
use std::fs;

/// The share of lost packets above which a run is repeated. The registry of claims (`lost-outside`) has the same share,
/// above which a run gives no verdict.
pub const MOST_LOST_OUTSIDE: f64 = 0.001;

/// The packets lost outside of the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Losses {
    /// Packets sent; if they are not counted, packets that reached the scheduler.
    pub sent_packets: u64,
    /// Packets sent that did not reach the scheduler.
    pub before_scheduler_packets: u64,
    /// Packets that left the scheduler but were not received.
    pub after_scheduler_packets: u64,
    /// Packets dropped because the receiver's sockets had no room; part of the above.
    pub receiver_socket_packets: u64,
    /// Packets dropped because the switch's rings or memory had no room, or because the kernel did not send them; part
    /// of the above.
    pub switch_packets: u64,
    /// Packets dropped by the virtual wires; part of the above.
    pub wire_packets: u64,
    /// Packets lost before or after the scheduler, as a share of the packets sent.
    pub share: f64,
}

/// The scheduler's own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Scheduler {
    /// Packets with a rank that reached the scheduler.
    seen: u64,
    /// Packets that the scheduler dropped or pushed out.
    dropped: u64,
    /// Packets that the scheduler still holds.
    held: u64,
    /// Packets lost around the scheduler.
    lost: u64,
}

impl Scheduler {
    /// Reads the counters of any data plane.
    fn read(counters: &Value) -> Self {
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        if let Some(forward) = counters.get("forward") {
            let packets = |key: &str| number(&forward[key]["packets"]);
            let refused =
                ["admission", "full", "rank_out_of_range", "aqm"].map(|reason| packets(&format!("dropped_{reason}")));
            let refused: u64 = refused.iter().sum();
            let dropped = packets("evicted") + packets("dropped_at_dequeue");
            return Self {
                seen: packets("admitted") + refused,
                dropped: refused + dropped,
                held: packets("admitted").saturating_sub(packets("dequeued") + dropped),
                lost: number(&counters["input"]["ring_dropped"])
                    + number(&counters["output"]["send_failed"])
                    + packets("oversized")
                    + packets("no_slot"),
            };
        }
        if counters["qdisc"] == "bpf" {
            // This qdisc also counts frames that are not IP, which no sender of the testbed sent. Neither their arrival
            // nor their outcome may count as a packet.
            let count = |key: &str| number(&counters[key]);
            let dropped = count("dropped_packets").saturating_sub(count("dropped_not_ip"));
            let passed_by = (count("neighbour") + count("not_ip")).saturating_sub(count("dropped_not_ip"));
            return Self {
                seen: count("admitted_packets").saturating_sub(passed_by) + dropped,
                dropped: dropped + count("evicted_packets"),
                held: count("occupancy_packets").saturating_sub(count("occupancy_not_ip")),
                lost: 0,
            };
        }
        if counters["qdisc"] == "linux" {
            let count = |key: &str| number(&counters[key]);
            let (dropped, held) = (count("dropped_packets"), count("occupancy_packets"));
            return Self { seen: count("sent_packets") + dropped + held, dropped, held, lost: 0 };
        }
        let queues = counters["queues"].as_array().map(Vec::as_slice).unwrap_or_default();
        let sum = |key: &str| queues.iter().map(|queue| number(&queue[key])).sum::<u64>();
        let refused = number(&counters["dropped_admission"]) + sum("dropped_full");
        Self {
            seen: sum("admitted_packets") + refused,
            dropped: refused + sum("dropped_by_leaf"),
            held: if counters["unit"] == "packets" { sum("occupancy") } else { 0 },
            lost: 0,
        }
    }
}

impl Losses {
    /// Computes the losses from the data plane's `counters`, the drops of the `wires`, and the counts of senders and
    /// receivers: packets sent (`None` if not counted), received, and dropped by the receiver's sockets.
    pub fn new(counters: &Value, wires: u64, sent: Option<u64>, received: u64, by_sockets: u64) -> Self {
        let scheduler = Scheduler::read(counters);
        let (before, after) = match sent {
            // All packets not accounted for are lost, at any place.
            Some(sent) => {
                let left = scheduler.seen.saturating_sub(scheduler.dropped + scheduler.held);
                (sent.saturating_sub(scheduler.seen), left.saturating_sub(received))
            }
            None => (scheduler.lost + wires, by_sockets),
        };
        let sent = sent.unwrap_or(scheduler.seen);
        Self {
            sent_packets: sent,
            before_scheduler_packets: before,
            after_scheduler_packets: after,
            receiver_socket_packets: by_sockets,
            switch_packets: scheduler.lost,
            wire_packets: wires,
            share: (before + after) as f64 / sent.max(1) as f64,
        }
    }

    /// Whether the losses are too many for a verdict.
    pub fn too_many(&self) -> bool {
        self.share > MOST_LOST_OUTSIDE
    }
}

/// The packets that the interfaces of `lab` have dropped so far, in both directions.
pub fn dropped_by_wires(lab: &Lab) -> u64 {
    let table = |namespace: &Namespace| {
        namespace.enter(|| fs::read_to_string("/proc/thread-self/net/dev")).map_or(0, |table| dropped_in(&table))
    };
    table(&lab.sender) + table(&lab.router) + table(&lab.receiver)
}

/// The sum of the columns `drop` in /proc/net/dev, the fourth of each direction, over all interfaces except the
/// loopback.
fn dropped_in(table: &str) -> u64 {
    let line = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<u64> = numbers.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect();
        (name.trim() != "lo").then(|| numbers.get(3).unwrap_or(&0) + numbers.get(11).unwrap_or(&0))
    };
    table.lines().filter_map(line).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_accounted_for_is_lost_before_or_after_the_scheduler() {
        let tally = |packets: u64| json!({ "packets": packets, "bytes": 0 });
        let switch = json!({
            "forward": {
                "admitted": tally(700), "dropped_admission": tally(100), "dropped_full": tally(50),
                "dropped_rank_out_of_range": tally(0), "dropped_aqm": tally(0), "evicted": tally(20), "dropped_at_dequeue": tally(0),
                "dequeued": tally(680), "oversized": tally(0), "no_slot": tally(0),
            },
            "input": { "ring_dropped": 140 }, "output": { "send_failed": 3 },
        });
        let losses = Losses::new(&switch, 5, Some(1000), 600, 70);
        assert_eq!((losses.before_scheduler_packets, losses.after_scheduler_packets), (150, 80));
        assert_eq!((losses.switch_packets, losses.receiver_socket_packets), (143, 70));
        assert!((losses.share - 0.23).abs() < 1e-9 && losses.too_many());
        // The packets of a user's own sender are not counted.
        let losses = Losses::new(&switch, 5, None, 600, 70);
        assert_eq!((losses.sent_packets, losses.before_scheduler_packets), (850, 148));

        let queue = json!({ "admitted_packets": 400, "dropped_full": 50, "dropped_by_leaf": 2, "occupancy": 8 });
        let ebpf = json!({ "queues": [queue, queue], "dropped_admission": 100, "unit": "packets" });
        let losses = Losses::new(&ebpf, 0, Some(1000), 780, 0);
        assert_eq!((losses.before_scheduler_packets, losses.after_scheduler_packets), (0, 0));
        assert!(!losses.too_many());
        let linux = json!({ "qdisc": "linux", "sent_packets": 700, "dropped_packets": 290, "occupancy_packets": 7 });
        let losses = Losses::new(&linux, 0, Some(1000), 698, 0);
        assert_eq!((losses.before_scheduler_packets, losses.after_scheduler_packets), (3, 2));
        let qdisc = json!({
            "qdisc": "bpf", "admitted_packets": 900, "dropped_packets": 100, "evicted_packets": 100, "occupancy_packets": 0,
        });
        assert_eq!(Losses::new(&qdisc, 0, Some(1000), 799, 1).after_scheduler_packets, 1);
    }

    /// A BPF qdisc's counters after 100 packets of the senders (10 dropped, 5 pushed out) and `frames` frames that are
    /// not IP. Of these, `dropped` had no room in their share, and `held` still wait.
    fn qdisc(frames: u64, dropped: u64, held: u64) -> Value {
        json!({
            "qdisc": "bpf", "admitted_packets": 90 + frames - dropped, "dropped_packets": 10 + dropped, "evicted_packets": 5,
            "neighbour": frames - frames / 2, "not_ip": frames / 2, "dropped_not_ip": dropped,
            "occupancy_packets": 2 + held, "occupancy_not_ip": held,
        })
    }

    #[test]
    fn frames_that_nobody_sent_are_not_lost() {
        for (frames, dropped, held) in [(0, 0, 0), (1, 0, 0), (9, 0, 1), (9, 4, 2), (3, 3, 0)] {
            let losses = Losses::new(&qdisc(frames, dropped, held), 0, Some(100), 83, 0);
            let found = (losses.before_scheduler_packets, losses.after_scheduler_packets);
            assert_eq!(found, (0, 0), "{frames} frames, {dropped} dropped, {held} held");
        }
    }

    #[test]
    fn frames_that_nobody_sent_hide_no_loss() {
        for (frames, dropped, held) in [(1, 1, 0), (9, 0, 1), (9, 4, 2), (33, 32, 0)] {
            let losses = Losses::new(&qdisc(frames, dropped, held), 0, Some(103), 82, 0);
            let found = (losses.before_scheduler_packets, losses.after_scheduler_packets);
            assert_eq!(found, (3, 1), "{frames} frames, {dropped} dropped, {held} held");
        }
    }

    #[test]
    fn drops_of_interfaces_are_those_of_both_directions() {
        let table = "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    lo:    1 1 0 9 0 0 0 0 1 1 0 9 0 0 0 0\n    r0:    1 1 0 3 0 0 0 0 1 1 0 4 0 0 0 0\n";
        assert_eq!(dropped_in(table), 7);
    }
}
