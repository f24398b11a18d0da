//! RACK-TLP (RFC 8985) over a wire that loses, delays and reorders segments as each test says.

use pifolab_transport::{
    AnyTransport, Counts, End, Progress, Recovery, Segment, TcpParams, Transport, TransportParams,
};
use pifolab_units::{Span, Time};
use std::collections::BTreeMap;

const MSS: u64 = 1_000;
/// The time of a segment on the wire, and the delay of the wire: a round trip of 100 us.
const SERIALISATION: Span = Span::from_us(1);
const DELAY: Span = Span::from_us(50);

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Arrives,
    Late(Span),
    Lost,
}

/// A transmission of data: time, number of the segment, fate.
type Sent = (Time, u32, Fate);

#[derive(Debug)]
struct Outcome {
    counts: Counts,
    sent: Vec<Sent>,
    /// The window at the end, in segments.
    window: f64,
    threshold: f64,
    is_complete: bool,
}

impl Outcome {
    /// The transmissions of segments that had not been lost before, other than the first of each.
    fn needless(&self) -> Vec<Sent> {
        let mut fates = BTreeMap::new();
        let again = |sent: &&Sent| fates.insert(sent.1, sent.2).is_some_and(|fate| fate != Fate::Lost);
        self.sent.iter().filter(again).copied().collect()
    }
}

fn params(recovery: Recovery) -> TcpParams {
    TcpParams { mss_bytes: MSS as u32, max_window_bytes: 1 << 20, recovery, ..TcpParams::default() }
}

/// Runs a flow of so many segments. `fate` gets each packet, the number of its transmission if it is data, and whether it
/// is new data.
fn run(tcp: TcpParams, segments: u64, mut fate: impl FnMut(&Segment, usize) -> Fate) -> Outcome {
    let params = TransportParams { tcp, ..TransportParams::new_reno() }.validated().unwrap();
    let AnyTransport::Tcp(mut flow) = params.connect(segments * MSS, None) else { panic!("it is TCP") };
    let (mut wire, mut order): (BTreeMap<(Time, usize), Segment>, usize) = (BTreeMap::new(), 0);
    let (mut sent, mut times) = (Vec::new(), BTreeMap::<u32, usize>::new());
    let (mut now, mut free, mut progress) = (Time::ZERO, Time::ZERO, Progress::Going);
    let mut produced = Vec::new();
    flow.start(now, &mut |segment| produced.push(segment));
    while progress == Progress::Going {
        for segment in produced.drain(..) {
            let is_data = segment.payload_bytes > 0;
            let time = times.entry(segment.seq).or_default();
            *time += usize::from(is_data);
            let fate = fate(&segment, *time);
            if is_data {
                free = free.max(now) + SERIALISATION;
                sent.push((now, segment.seq, fate));
            }
            let arrival = if is_data { free } else { now } + DELAY;
            order += 1;
            match fate {
                Fate::Arrives => wire.insert((arrival, order), segment),
                Fate::Late(late) => wire.insert((arrival + late, order), segment),
                Fate::Lost => None,
            };
        }
        let timers = [End::Sender, End::Receiver].map(|end| (flow.timer(end).deadline, end));
        let timer = timers.into_iter().filter_map(|(time, end)| Some((time?, end))).min_by_key(|timer| timer.0);
        let arrival = wire.first_key_value().map(|(key, _)| *key);
        progress = match (arrival, timer) {
            (Some(key), timer) if timer.is_none_or(|timer| key.0 <= timer.0) => {
                now = key.0;
                let segment = wire.remove(&key).unwrap();
                flow.handle_segment(&segment, now, &mut |segment| produced.push(segment))
            }
            (_, Some((time, end))) => {
                now = time;
                flow.handle_timeout(end, now, &mut |segment| produced.push(segment))
            }
            _ => panic!("nothing is on the wire, and no timer runs"),
        };
        assert!(sent.len() < 100 * segments as usize, "the flow sends for ever");
    }
    let window = *flow.window();
    Outcome {
        counts: flow.counts(),
        sent,
        window: window.cwnd / window.mss,
        threshold: window.ssthresh / window.mss,
        is_complete: flow.acknowledged_bytes() == segments * MSS,
    }
}

/// Runs with the data lost for which `lost` returns true, by its segment and the number of the transmission.
fn with_losses(recovery: Recovery, segments: u64, mut lost: impl FnMut(u32, usize) -> bool) -> Outcome {
    run(params(recovery), segments, |segment, time| {
        if segment.payload_bytes > 0 && lost(segment.seq, time) { Fate::Lost } else { Fate::Arrives }
    })
}

/// Section 3.4: a probe repairs the loss of the last segment, or reveals those of the segments before.
#[test]
fn the_loss_of_a_tail_is_repaired_without_a_timeout() {
    for segments in [1, 2, 5, 10, 30] {
        for tail in 1..=segments.min(20) {
            let lost = |number, time| time == 1 && u64::from(number) >= segments - tail;
            let rack = with_losses(Recovery::Rack, segments, lost);
            assert_eq!(rack.counts.timeouts, 0, "{tail} of {segments}");
            assert_eq!(u64::from(rack.counts.retransmissions), tail, "{tail} of {segments}");
            assert_eq!(with_losses(Recovery::Duplicates, segments, lost).counts.timeouts, 1, "{tail} of {segments}");
        }
    }
}

/// Section 7.3: with data left a probe is new data.
#[test]
fn the_loss_of_a_whole_flight_is_found_by_new_data() {
    let rack = with_losses(Recovery::Rack, 100, |number, time| time == 1 && number < 10);
    assert_eq!((rack.counts.timeouts, rack.counts.retransmissions), (0, 10));
    // The eleventh transmission is the probe.
    assert_eq!(rack.sent[10].1, 10);
    assert!(with_losses(Recovery::Duplicates, 100, |number, time| time == 1 && number < 10).counts.timeouts > 0);
}

/// Section 7.2: a probe follows the last acknowledgement after two round trips, of one segment after the budget for a
/// delayed acknowledgement as well, and never after the retransmission timer.
#[test]
fn a_probe_leaves_two_round_trips_after_the_last_acknowledgement() {
    let probe_after = |segments: u64, tail: u32| {
        let end = segments as u32;
        let rack = with_losses(Recovery::Rack, segments, |number, time| number + tail >= end && time == 1);
        let (probe, before) = (rack.sent[segments as usize], rack.sent[segments as usize - 1]);
        assert_eq!(probe.1, end - 1);
        probe.0.since(before.0)
    };
    // Four segments leave at 0; the acknowledgement of the second arrives after 102 us, and two round trips are 202 us.
    let after = probe_after(4, 2);
    assert!((Span::from_us(303)..Span::from_us(305)).contains(&after), "{after}");
    // With one segment left the timeout, of 1 ms after the last acknowledgement, is sooner than 1 ms and two round trips.
    assert_eq!(probe_after(4, 1), Span::from_us(1_103));
    // Nor has a probe of a single segment, without a sample, more time than the initial timeout.
    assert_eq!(probe_after(1, 1), TcpParams::default().initial_rto);
}

/// Section 6.2, step 5: the timer finds the loss, where too few segments follow.
#[test]
fn the_reordering_timer_finds_a_loss_before_the_last_segment() {
    let rack = with_losses(Recovery::Rack, 3, |number, time| time == 1 && number == 1);
    let again = rack.sent[3];
    assert_eq!((rack.counts.timeouts, rack.counts.retransmissions, again.1), (0, 1, 1));
    // The third segment's acknowledgement arrives after 103 us; the window is a quarter of 101 us from there, less the
    // microsecond by which the wire delays the third more.
    let after = again.0.since(rack.sent[0].0);
    assert!((Span::from_us(127)..Span::from_us(130)).contains(&after), "{after}");
}

/// Section 3.3: a network that reorders is given time, unless DupThresh segments follow before it has reordered at all.
#[test]
fn reordering_within_the_window_sends_nothing_again() {
    let late = |first: u32, second: u32, by_us: u64| {
        move |segment: &Segment, _: usize| match segment.payload_bytes {
            1.. if segment.seq == first => Fate::Late(Span::from_us(2)),
            1.. if segment.seq == second => Fate::Late(Span::from_us(by_us)),
            _ => Fate::Arrives,
        }
    };
    // Segment 1 is overtaken by two segments; then segment 50 by more than three, for less than 25 us.
    let rack = run(params(Recovery::Rack), 200, late(1, 50, 20));
    assert!(rack.counts.reordered >= 2 && rack.counts.retransmissions == 0, "{:?}", rack.counts);
    assert!(run(params(Recovery::Duplicates), 200, late(1, 50, 20)).counts.retransmissions > 0);
    // Beyond the window, or without reordering before, three segments suffice.
    assert!(run(params(Recovery::Rack), 200, late(1, 50, 60)).counts.retransmissions > 0);
    assert!(run(params(Recovery::Rack), 200, late(999, 50, 20)).counts.retransmissions > 0);
}

/// Section 3.1: retransmissions have times, too.
#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    for times in 1..=4 {
        let lost = |number, time| number == 20 && time <= times;
        let rack = with_losses(Recovery::Rack, 400, lost);
        assert_eq!((rack.counts.timeouts, rack.counts.retransmissions as usize), (0, times));
        let plain = with_losses(Recovery::Duplicates, 400, lost);
        assert_eq!(plain.counts.timeouts > 0, times > 1, "{times} times");
    }
}

/// Section 7.4: a cut for a loss that the probe repaired, and none if both transmissions arrived.
#[test]
fn a_probe_that_repaired_a_loss_cuts_the_window() {
    // The window of two segments limits the sender, so that a probe sends the second one again.
    let tcp = TcpParams { max_window_bytes: 2 * MSS, ..params(Recovery::Rack) };
    let once = |lost: fn(&Segment) -> bool| {
        let mut left = true;
        move |segment: &Segment, _: usize| match left && lost(segment) {
            true => {
                left = false;
                Fate::Lost
            }
            false => Fate::Arrives,
        }
    };
    let repaired = run(tcp, 20, once(|segment| segment.payload_bytes > 0 && segment.seq == 5));
    let needless = run(tcp, 20, once(|segment| !segment.from_sender() && segment.ack == 6));
    for (outcome, has_cut) in [(&repaired, true), (&needless, false)] {
        assert_eq!((outcome.counts.timeouts, outcome.threshold.is_finite()), (0, has_cut), "{:?}", outcome.counts);
    }
}

/// Section 7.1: a recovery ends the probe, so that one lost window cuts the threshold once.
#[test]
fn a_lost_window_that_a_probe_reveals_is_cut_once() {
    let tcp = TcpParams { max_window_bytes: 8 * MSS, ..params(Recovery::Rack) };
    let outcome = run(tcp, 60, |segment: &Segment, time: usize| {
        let is_lost = segment.payload_bytes > 0 && (24..32).contains(&segment.seq) && time == 1;
        if is_lost { Fate::Lost } else { Fate::Arrives }
    });
    assert_eq!((outcome.counts.timeouts, outcome.threshold), (0, 4.0), "{:?}", outcome.counts);
}

/// A generator of numbers below a bound.
fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Over drawn losses of data: everything arrives, and without a timeout nothing that was not lost is sent again, but the
/// last segment by a probe.
#[test]
fn drawn_losses_are_repaired_and_nothing_else() {
    let mut without_timeouts = 0;
    for round in 0..600 {
        let mut draw = draws(round);
        let (segments, one_in) = (1 + draw(300), 2 + draw(60));
        let rack = with_losses(Recovery::Rack, segments, |_, _| draw(one_in) == 0);
        assert!(rack.is_complete && rack.window >= 1.0, "round {round}");
        if rack.counts.timeouts == 0 {
            without_timeouts += 1;
            for (time, number, _) in rack.needless() {
                let highest = rack.sent.iter().filter(|sent| sent.0 < time).map(|sent| sent.1).max();
                assert_eq!(highest, Some(number), "round {round}: segment {number} again at {time}");
            }
        }
    }
    assert!(without_timeouts > 300, "{without_timeouts} of 600 rounds");
}

/// Also where acknowledgements are lost and packets are reordered, every byte arrives, and the state is consistent.
#[test]
fn drawn_wires_of_all_kinds_deliver_everything() {
    for round in 0..600 {
        let mut draw = draws(1_000 + round);
        let (segments, lost, late) = (1 + draw(300), 3 + draw(40), 2 + draw(40));
        let tcp = TcpParams {
            initial_window_segments: 1 + draw(40) as u32,
            max_window_bytes: (1 + draw(100)) * MSS,
            duplicate_threshold: 1 + draw(5) as u32,
            ..params(Recovery::Rack)
        };
        let rack = run(tcp, segments, |_, _| match (draw(lost), draw(late)) {
            (0, _) => Fate::Lost,
            (_, 0) => Fate::Late(Span::from_us(1 + draw(200))),
            _ => Fate::Arrives,
        });
        assert!(rack.is_complete, "round {round}");
    }
}

/// Drawn losses near the end of short flows: fewer timeouts than with duplicate acknowledgements, in total and, where the
/// last segments arrive the second time, none.
#[test]
fn drawn_tail_losses_cause_fewer_timeouts() {
    let (mut of_rack, mut of_duplicates) = (0, 0);
    for round in 0..400 {
        let mut draw = draws(5_000 + round);
        let (segments, tail) = (1 + draw(60), 1 + draw(12));
        let lost: Vec<bool> = (0..segments).map(|number| number + tail >= segments && draw(2) == 0).collect();
        let lost = |number: u32, time| time == 1 && lost[number as usize];
        let rack = with_losses(Recovery::Rack, segments, lost);
        assert_eq!(rack.counts.timeouts, 0, "round {round}");
        of_rack += rack.counts.timeouts;
        of_duplicates += with_losses(Recovery::Duplicates, segments, lost).counts.timeouts;
    }
    assert!(of_rack < of_duplicates && of_duplicates > 100, "{of_rack} and {of_duplicates} timeouts");
}
