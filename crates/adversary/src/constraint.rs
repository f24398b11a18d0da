//! The packets that the adversary may send: a fixed multiset of ranks, rising or falling ranks within each flow,
//! packets of other senders, and the rate of arrivals.

use pifolab_units::Ratio;

/// The order of the ranks within one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// No rank is lower than the previous one.
    Rising,
    /// No rank is higher than the previous one.
    Falling,
}

/// Limits on traces; the default allows every trace of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraint {
    /// The number of the adversary's packets of each rank, in the order of the alphabet; their order is free.
    pub multiset: Option<Vec<u32>>,
    /// The number of flows to which the adversary's packets belong in turn, and the trend of the ranks in each.
    pub flows: Option<(usize, Trend)>,
    /// The packets of benign traffic: their indices in the trace, ascending, with their ranks.
    pub benign: Vec<(usize, u64)>,
    /// Arrivals per departure; `None` if all packets arrive before the first departure.
    pub load: Option<Ratio>,
    /// The number of packets per burst; the link catches up between bursts.
    pub burst: usize,
}

impl Constraint {
    /// The rank that the packet at index `place` must have, if it is not the adversary's.
    pub fn fixed(&self, place: usize) -> Option<u64> {
        let found = self.benign.binary_search_by_key(&place, |(place, _)| *place);
        found.ok().map(|found| self.benign[found].1)
    }

    /// Whether any order of ranks is allowed.
    pub fn is_free(&self) -> bool {
        self.multiset.is_none() && self.flows.is_none() && self.benign.is_empty()
    }

    /// Whether `ranks` is allowed; `alphabet` is in ascending order.
    pub fn allows(&self, ranks: &[u64], alphabet: &[u64]) -> bool {
        let mut state = self.start();
        ranks.iter().enumerate().all(|(place, rank)| {
            let symbol = alphabet.partition_point(|known| known < rank);
            self.step(&mut state, place, symbol, alphabet)
        }) && self.is_complete(&state)
    }

    /// The state before the first packet: the remaining multiset, and for each flow the number of its last rank plus
    /// one.
    pub(crate) fn start(&self) -> State {
        State {
            left: self.multiset.clone().unwrap_or_default(),
            last: vec![0; self.flows.map_or(0, |(flows, _)| flows)],
            turn: 0,
        }
    }

    /// Assigns the rank with number `symbol` to the packet `place`; `false` if it is not allowed.
    pub(crate) fn step(&self, state: &mut State, place: usize, symbol: usize, alphabet: &[u64]) -> bool {
        if let Some(rank) = self.fixed(place) {
            return alphabet.get(symbol) == Some(&rank);
        }
        if symbol >= alphabet.len() {
            return false;
        }
        if self.multiset.is_some() {
            match state.left.get_mut(symbol) {
                Some(left) if *left > 0 => *left -= 1,
                _ => return false,
            }
        }
        if let Some((flows, trend)) = self.flows {
            let last = &mut state.last[state.turn];
            let allowed = match trend {
                Trend::Rising => *last == 0 || symbol + 1 >= *last,
                Trend::Falling => *last == 0 || symbol < *last,
            };
            if !allowed {
                return false;
            }
            *last = symbol + 1;
            state.turn = (state.turn + 1) % flows;
        }
        true
    }

    /// Whether the multiset is used up.
    pub(crate) fn is_complete(&self, state: &State) -> bool {
        state.left.iter().all(|left| *left == 0)
    }

    /// The number of departures allowed after each of `packets` arrivals; empty for a batch.
    pub fn departures(&self, packets: usize) -> Vec<u32> {
        let Some(load) = self.load else { return Vec::new() };
        let burst = self.burst.max(1);
        let (over, under) = (u128::from(load.denominator()), u128::from(load.numerator()).max(1));
        let due = |arrived: usize| (arrived as u128 * over / under) as u64;
        let mut served = 0;
        let after = |arrived: usize| {
            if !arrived.is_multiple_of(burst) {
                return 0;
            }
            let now = due(arrived) - served;
            served += now;
            now as u32
        };
        (1..=packets).map(after).collect()
    }
}

/// The constraint's state after some packets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub left: Vec<u32>,
    pub last: Vec<usize>,
    turn: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALPHABET: [u64; 3] = [4, 5, 6];

    #[test]
    fn a_multiset_leaves_only_the_order_free() {
        let constraint = Constraint { multiset: Some(vec![2, 0, 1]), ..Constraint::default() };
        assert!(constraint.allows(&[4, 6, 4], &ALPHABET));
        assert!(!constraint.allows(&[4, 6], &ALPHABET), "one is left");
        assert!(!constraint.allows(&[4, 6, 6], &ALPHABET) && !constraint.allows(&[4, 5, 4], &ALPHABET));
    }

    #[test]
    fn ranks_rise_within_each_flow_past_benign_packets() {
        let rising = Constraint { flows: Some((2, Trend::Rising)), benign: vec![(1, 6)], ..Constraint::default() };
        // Flow 1: 5, 5. Flow 2: 4, 6. The packet at index 1 belongs to neither.
        assert!(rising.allows(&[5, 6, 4, 5, 6], &ALPHABET));
        assert!(!rising.allows(&[5, 5, 4, 5, 6], &ALPHABET), "the benign packet keeps its rank");
        assert!(!rising.allows(&[5, 6, 4, 4, 6], &ALPHABET), "flow 1 falls");
        let falling = Constraint { flows: Some((1, Trend::Falling)), ..Constraint::default() };
        assert!(falling.allows(&[6, 5, 5, 4], &ALPHABET) && !falling.allows(&[5, 6], &ALPHABET));
    }

    #[test]
    fn departures_follow_the_load_and_wait_for_the_end_of_a_burst() {
        let at = |load: Option<&str>, burst| Constraint {
            load: load.map(|load| load.parse().unwrap()),
            burst,
            ..Constraint::default()
        };
        assert_eq!(at(None, 1).departures(3), [0u32; 0]);
        assert_eq!(at(Some("1"), 1).departures(4), [1, 1, 1, 1]);
        assert_eq!(at(Some("2"), 1).departures(5), [0, 1, 0, 1, 0]);
        assert_eq!(at(Some("1.1"), 1).departures(11).iter().sum::<u32>(), 10);
        assert_eq!(at(Some("1"), 3).departures(7), [0, 0, 3, 0, 0, 3, 0]);
    }
}
