use super::*;
use crate::params;
use crate::schedulers::{Rifo, deciders};
use crate::{Enqueued, Packet, Scheduler};
use pifolab_units::{Ratio, Time};

/// The test of a capacity in bytes.
fn test(mode: RifoMode, k: Ratio, capacity: u64) -> Test {
    let params = RifoParams { capacity: Capacity::Bytes(capacity), k, mode, ..RifoParams::packets(1) };
    deciders::Rifo::from_params(params).expect("the parameters are in range").0.test
}

fn offer(rifo: &mut Rifo, rank: u32) -> Result<(), DropReason> {
    match rifo.enqueue(Packet { id: 0, flow: 0, size: 100, rank: Rank::from(rank), arrival: Time::ZERO }, Time::ZERO) {
        Enqueued::Dropped { reason, .. } => Err(reason),
        _ => Ok(()),
    }
}

fn rifo(packets: u32, tracking_range: u64, reset_counter: ResetCounter) -> Rifo {
    let params = RifoParams { tracking_range, k: Ratio::ZERO, reset_counter, ..RifoParams::packets(packets) };
    Rifo::new(params).unwrap()
}

/// Six ranks seen, from 1 to 6; two packets in a queue of three. The text prints 1/5 for the relative rank of 5 and
/// says that 4 would have been admitted: it is 4/5, and 2 would.
#[test]
fn reproduces_the_papers_figure_3() {
    for (rank, expected) in [(5, Err(DropReason::Admission)), (4, Err(DropReason::Admission)), (2, Ok(()))] {
        let mut rifo = rifo(3, 6, ResetCounter::One);
        assert_eq!([1, 1].map(|rank| offer(&mut rifo, rank)), [Ok(()), Ok(())]);
        for rank in [6, 6, 6] {
            assert_eq!(offer(&mut rifo, rank), Err(DropReason::Admission));
        }
        assert_eq!(offer(&mut rifo, rank), expected, "rank {rank}");
    }
}

#[test]
fn the_range_restarts_after_t_packets_or_one_later() {
    for (reset, last) in [(ResetCounter::One, (8, 8)), (ResetCounter::Zero, (6, 8))] {
        let mut rifo = rifo(100, 2, reset);
        let mut range_after = |rank| {
            let _ = offer(&mut rifo, rank);
            rifo.decider().range().map(|(min, max)| (min.get(), max.get())).expect("a packet was offered")
        };
        assert_eq!([4, 5, 6, 7, 8].map(&mut range_after), [(4, 4), (4, 5), (6, 6), (6, 7), last]);
    }
}

#[test]
fn a_full_queue_drops_what_the_test_lets_pass() {
    let mut rifo = rifo(1, 10, ResetCounter::One);
    assert_eq!(offer(&mut rifo, 3), Ok(()));
    assert_eq!(offer(&mut rifo, 3), Err(DropReason::Full), "Max = Min admits");
    assert_eq!(offer(&mut rifo, 4), Err(DropReason::Admission));
    assert_eq!(offer(&mut rifo, 3), Err(DropReason::Full), "the lowest rank passes the test");
}

#[test]
fn eq3_admits_more_than_algorithm_1_above_the_guaranteed_share() {
    let half = Ratio::new(1, 2).unwrap();
    let test = |mode| test(mode, half, 8);
    // l = 5 of 8 free 3: score 1/2 > 3/8, but 1/2 <= 3/4.
    assert!(!test(RifoMode::Alg1).admits(50, 100, 5, 8));
    assert!(test(RifoMode::Eq3).admits(50, 100, 5, 8));
    // At l = kB both admit every rank.
    assert!(test(RifoMode::Alg1).admits(100, 100, 4, 8));
    assert!(test(RifoMode::Eq3).admits(100, 100, 4, 8));
}

#[test]
fn eq3_is_exact_beyond_128_bits() {
    let k = Ratio::new(1, u64::from(u32::MAX)).unwrap();
    let (total, range) = (params::MAX_BYTES, params::MAX_RANK);
    let test = test(RifoMode::Eq3, k, total);
    // (1 - k) B (r - Min) = (B - l) (Max - Min) exactly at r = Max, l = kB; 2^40 / (2^32 - 1) is not an integer.
    let l = total / u64::from(u32::MAX);
    assert!(test.admits(range, range, l, total));
    assert!(!test.admits(range, range, l + 1, total));
}

#[test]
fn the_nearest_power_of_two_of_the_sheltered_buffer_is_the_lower_in_the_middle() {
    let exponent = |k: (u64, u64), capacity| match test(RifoMode::Pow2, Ratio::new(k.0, k.1).unwrap(), capacity) {
        Test::Pow2(power) => power.0.exponent,
        _ => unreachable!("the mode is pow2"),
    };
    assert_eq!(exponent((0, 1), 12), 3, "12 lies in the middle between 8 and 16");
    assert_eq!(exponent((0, 1), 13), 4);
    assert_eq!(exponent((1, 10), 20), 4, "18");
    assert_eq!(exponent((9, 10), 1), 0, "a tenth of a packet");
}

#[test]
fn the_switch_compares_powers_of_two() {
    let test = test(RifoMode::Pow2, Ratio::ZERO, 16);
    assert!(test.admits(15, 31, 8, 16), "2^4 2^3 <= 2^3 2^4");
    assert!(!test.admits(16, 31, 8, 16), "2^4 2^4 > 2^3 2^4");
    assert!(test.admits(0, 31, 16, 16), "a product with 0 is 0");
    assert!(!test.admits(1, 31, 16, 16), "nothing is free");
    assert!(test.admits((1 << 47) - 1, u64::MAX >> 1, 16, 16), "shifted out: 2^46 of 2^63 counts as 0");
    assert!(!test.admits(1 << 47, u64::MAX >> 1, 16, 16));
}
