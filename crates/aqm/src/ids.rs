//! A set of packet ids.

use alloc::boxed::Box;

/// The least number of places of a set that is not empty.
const FEWEST: usize = 16;

/// The ids of waiting packets, with open addressing. The set grows to its working size once and then allocates no more.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    /// No places, or a power of two, at least half of which are empty. An id is at its home or behind it without a gap.
    places: Box<[Option<u64>]>,
    held: usize,
}

impl Ids {
    /// The empty set, without an allocation.
    pub(crate) fn new() -> Self {
        Self { places: Box::default(), held: 0 }
    }

    /// Adds `id`.
    pub(crate) fn insert(&mut self, id: u64) {
        if 2 * (self.held + 1) > self.places.len() {
            let larger = alloc::vec![None; (2 * self.places.len()).max(FEWEST)].into();
            let before = core::mem::replace(self, Self { places: larger, held: 0 });
            before.places.iter().flatten().for_each(|id| self.insert(*id));
        }
        let at = self.place_of(id);
        self.held += usize::from(self.places[at].is_none());
        self.places[at] = Some(id);
    }

    /// Removes `id`; returns whether the set contained it.
    pub(crate) fn remove(&mut self, id: u64) -> bool {
        if self.held == 0 {
            return false;
        }
        let mut gap = self.place_of(id);
        if self.places[gap].take().is_none() {
            return false;
        }
        self.held -= 1;
        // An id behind the gap moves into it if that is closer to its home.
        let mut at = self.next(gap);
        while let Some(id) = self.places[at] {
            if self.distance(self.home(id), at) >= self.distance(gap, at) {
                self.places.swap(gap, at);
                gap = at;
            }
            at = self.next(at);
        }
        true
    }

    /// The place of `id`, or the empty place where it belongs.
    fn place_of(&self, id: u64) -> usize {
        let mut at = self.home(id);
        while self.places[at].is_some_and(|other| other != id) {
            at = self.next(at);
        }
        at
    }

    /// Multiplication by the golden ratio spreads consecutive ids.
    fn home(&self, id: u64) -> usize {
        (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.places.len() - 1)
    }

    const fn next(&self, at: usize) -> usize {
        (at + 1) & (self.places.len() - 1)
    }

    /// The number of places from one to another, going forwards.
    const fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(pifolab_testkit::cases(100))]

        #[test]
        fn a_set_of_ids_agrees_with_a_tree_of_them(
            calls in prop::collection::vec((any::<bool>(), prop_oneof![0u64..40, 0u64..2_000, any::<u64>(), Just(u64::MAX)]), 0..600),
        ) {
            let (mut ids, mut tree) = (Ids::new(), BTreeSet::new());
            for (inserts, id) in calls {
                if inserts {
                    ids.insert(id);
                    tree.insert(id);
                } else {
                    prop_assert_eq!(ids.remove(id), tree.remove(&id));
                }
                prop_assert_eq!(ids.held, tree.len());
            }
            for id in tree {
                prop_assert!(ids.remove(id));
            }
            prop_assert!(ids.places.iter().all(Option::is_none));
        }
    }
}
