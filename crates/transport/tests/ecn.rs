//! ECN of RFC 3168: the flags that a sender and a receiver exchange, round trip by round trip.

use pifolab_transport::{AnyTransport, Flags, PlainController, Segment, Transport, TransportParams};
use pifolab_units::{Span, Time};

/// One round trip: the window at its end, the data sent in it, and the number of acknowledgements that echoed a mark.
struct Round {
    window: f64,
    data: Vec<Segment>,
    echoes: usize,
}

/// Runs a flow whose data is marked in the rounds `marked`. `lost` is the round and the index of a segment that is
/// dropped.
fn rounds(controller: PlainController, ecn: bool, marked: &[usize], lost: Option<(usize, usize)>) -> Vec<Round> {
    let mut params = TransportParams::plain(controller);
    params.tcp.ecn = ecn;
    params.tcp.max_window_bytes = 1 << 30;
    params.tcp.initial_ssthresh_segments = Some(40);
    let params = params.validated().unwrap();
    let AnyTransport::Tcp(mut flow) = params.connect(5_000_000, None) else { panic!("it is TCP") };
    let (mut now, mut wire) = (Time::ZERO, Vec::new());
    flow.start(now, &mut |segment| wire.push(segment));
    let mut rounds = Vec::new();
    while rounds.len() < 30 {
        now += Span::from_us(200);
        let (mut data, mut answers, mut echoes) = (Vec::new(), Vec::new(), 0);
        for (at, mut segment) in std::mem::take(&mut wire).into_iter().enumerate() {
            if segment.payload_bytes > 0 {
                data.push(segment);
                if marked.contains(&rounds.len()) && !segment.flags.has(Flags::NOT_ECT) {
                    segment.flags = segment.flags.with(Flags::CE);
                }
            }
            if lost != Some((rounds.len(), at)) {
                flow.handle_segment(&segment, now, &mut |answer: Segment| answers.push(answer));
            }
        }
        for answer in answers {
            echoes += usize::from(answer.flags.has(Flags::ECE));
            flow.handle_segment(&answer, now, &mut |segment| wire.push(segment));
        }
        rounds.push(Round { window: flow.window().cwnd, data, echoes });
    }
    rounds
}

fn cuts(rounds: &[Round]) -> Vec<usize> {
    (1..rounds.len()).filter(|at| rounds[*at].window < rounds[at - 1].window * 0.95).collect()
}

#[test]
fn a_window_with_marks_is_cut_once_and_says_so_once() {
    for (controller, share) in [(PlainController::NewReno, 0.5), (PlainController::Cubic, 0.7)] {
        let rounds = rounds(controller, true, &[10], None);
        assert_eq!(cuts(&rounds), [10], "{controller:?}");
        let (before, after) = (rounds[9].window, rounds[10].window);
        assert!((after / before - share).abs() < 0.06, "{controller:?}: {before} to {after}");
        let told: Vec<usize> =
            (0..30).filter(|at| rounds[*at].data.iter().any(|data| data.flags.has(Flags::CWR))).collect();
        assert_eq!(told, [11], "the first new data after the cut");
        assert_eq!(rounds[11].data.iter().filter(|data| data.flags.has(Flags::CWR)).count(), 1);
        // The receiver echoes until CWR arrives: in all of this window, and never after the first segment of the next.
        assert_eq!(rounds[10].echoes, rounds[10].data.len());
        assert!(rounds[11..].iter().all(|round| round.echoes == 0));
        assert!(rounds[29].window > after, "it grows again");
    }
}

#[test]
fn marks_in_every_window_cut_every_window_once() {
    let rounds = rounds(PlainController::NewReno, true, &[10, 11, 12], None);
    assert_eq!(cuts(&rounds), [10, 11, 12]);
    assert!(rounds.iter().all(|round| round.window >= 2.0 * 1_460.0));
}

#[test]
fn a_loss_and_marks_of_one_window_cut_it_once_and_what_is_sent_again_cannot_be_marked() {
    let both = rounds(PlainController::NewReno, true, &[10], Some((10, 3)));
    // Round 11 holds at most the end of the window of round 10, so mark and loss together cut like a mark alone.
    let lowest = |rounds: &[Round]| rounds[9..14].iter().map(|round| round.window).fold(f64::INFINITY, f64::min);
    let alone = rounds(PlainController::NewReno, true, &[10], None);
    assert!(lowest(&both) > 0.8 * lowest(&alone), "{} and {}", lowest(&both), lowest(&alone));
    let again: Vec<_> = both[11].data.iter().filter(|data| data.flags.has(Flags::NOT_ECT)).collect();
    assert_eq!(again.len(), 1, "one segment is sent again");
}

#[test]
fn without_the_option_nothing_is_answered() {
    let rounds = rounds(PlainController::NewReno, false, &[10], None);
    assert_eq!(cuts(&rounds), [0usize; 0]);
    assert!(rounds.iter().flat_map(|round| &round.data).all(|data| data.flags == Flags::default()));
}
