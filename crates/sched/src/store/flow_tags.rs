//! A number for each flow that is ahead of the others.

use alloc::boxed::Box;

/// The initial number of places: a few cache lines.
const FEWEST: usize = 16;

/// A tag for each flow that is ahead of the others: the finish tags of fair queueing.
///
/// Tags count from a *floor* that never falls, such as the virtual time of a port. A tag at or below the floor means
/// the same as no tag, so its place is reused. There are thus about as many places as backlogged flows, however many
/// flows have passed: a port that serves a hundred thousand flows a second needs a few cache lines. A tag for every
/// flow ever seen would cost a cache miss or two per packet.
///
/// The place of a flow is found by a multiplicative hash with linear probing. No result depends on the order of the
/// places.
#[derive(Clone, Debug)]
pub struct FlowTags {
    /// The number of places is a power of two, and at least a quarter of them are empty.
    places: Box<[Place]>,
    /// Places that are not empty.
    taken: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    tag: u64,
    flow: u32,
    /// Whether it belongs to a flow, or once belonged to one.
    taken: bool,
}

impl Default for FlowTags {
    fn default() -> Self {
        Self::new()
    }
}

impl FlowTags {
    /// No flow is ahead.
    pub fn new() -> Self {
        Self { places: alloc::vec![Place::default(); FEWEST].into(), taken: 0 }
    }

    /// The tag of `flow`, mutable; 0 or a tag at or below the floor if the flow is not ahead. O(1), amortised when
    /// places are added.
    #[inline]
    pub fn get_mut(&mut self, flow: u32, floor: u64) -> &mut u64 {
        let (at, found) = self.search(flow);
        let at = if found { at } else { self.add(flow, floor) };
        &mut self.places[at].tag
    }

    /// The tag of `flow`, mutable, if it has one.
    #[inline]
    pub fn find_mut(&mut self, flow: u32) -> Option<&mut u64> {
        let (at, found) = self.search(flow);
        found.then(|| &mut self.places[at].tag)
    }

    /// The place of `flow` and true, or the empty place where the search ends and false.
    #[inline(always)]
    fn search(&self, flow: u32) -> (usize, bool) {
        let mut at = self.home(flow);
        loop {
            let place = &self.places[at];
            if place.flow == flow || !place.taken {
                return (at, place.taken);
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }

    /// The place where the search for a flow begins. Consecutive numbers are spread out, whatever their lower bits.
    #[inline(always)]
    fn home(&self, flow: u32) -> usize {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = u64::from(flow).wrapping_mul(GOLDEN) >> 32;
        mixed as usize & (self.places.len() - 1)
    }

    /// Assigns `flow`, which has no place, the place of a flow that is not ahead, or an empty one. Its tag is 0.
    #[inline(never)]
    fn add(&mut self, flow: u32, floor: u64) -> usize {
        let mut at = self.home(flow);
        while self.places[at].taken && self.places[at].tag > floor {
            at = (at + 1) & (self.places.len() - 1);
        }
        if !self.places[at].taken {
            if 4 * (self.taken + 1) > 3 * self.places.len() {
                self.rebuild(floor);
                return self.add(flow, floor);
            }
            self.taken += 1;
        }
        self.places[at] = Place { tag: 0, flow, taken: true };
        at
    }

    /// Forgets the flows that are not ahead, and makes room for four times the number of those left.
    #[cold]
    fn rebuild(&mut self, floor: u64) {
        let ahead = |place: &&Place| place.taken && place.tag > floor;
        let left = self.places.iter().filter(ahead).count();
        let places = (4 * (left + 1)).next_power_of_two().max(FEWEST);
        let before = core::mem::replace(&mut self.places, alloc::vec![Place::default(); places].into());
        self.taken = left;
        for place in before.iter().filter(ahead) {
            let (at, _) = self.search(place.flow);
            self.places[at] = *place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    impl FlowTags {
        fn get(&mut self, flow: u32) -> u64 {
            self.find_mut(flow).map_or(0, |tag| *tag)
        }

        fn listed(&self) -> impl Iterator<Item = (u32, u64)> {
            self.places.iter().filter(|place| place.taken).map(|place| (place.flow, place.tag))
        }
    }

    proptest! {
        #![proptest_config(pifolab_testkit::cases(60))]

        /// Tags are raised above a rising floor, as by fair queueing, lowered again, and read.
        #[test]
        fn agrees_with_a_map_of_all_flows_wherever_a_tag_is_above_the_floor(
            seed in any::<u64>(), flows in 1u32..400, step in 0u64..40, spread in prop_oneof![Just(1u32), Just(64), Just(0x0100_0000)],
        ) {
            let (mut tags, mut map, mut floor) = (FlowTags::new(), BTreeMap::<u32, u64>::new(), 0u64);
            let mut state = seed | 1;
            for _ in 0..pifolab_testkit::steps(3000, 200) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let draw = (state >> 33) as u32;
                let flow = (draw % flows).wrapping_mul(spread);
                let known = map.entry(flow).or_default();
                prop_assert_eq!(tags.get(flow).max(floor), (*known).max(floor));
                match draw >> 28 {
                    0..4 => floor += step,
                    4..6 => {
                        *known = known.saturating_sub(30);
                        if let Some(tag) = tags.find_mut(flow) {
                            *tag = tag.saturating_sub(30);
                        }
                    }
                    _ => {
                        *known = floor.max(*known) + 1 + u64::from(draw >> 8) % 60;
                        let tag = tags.get_mut(flow, floor);
                        *tag = floor.max(*tag) + 1 + u64::from(draw >> 8) % 60;
                        prop_assert_eq!(*tag, *known);
                    }
                }
            }
            for (flow, tag) in &map {
                prop_assert_eq!(tags.get(*flow).max(floor), (*tag).max(floor));
            }
            let ahead = map.iter().map(|(flow, tag)| (*flow, *tag)).filter(|(_, tag)| *tag > floor);
            let mut listed: Vec<_> = tags.listed().filter(|(_, tag)| *tag > floor).collect();
            listed.sort_unstable();
            prop_assert!(ahead.eq(listed));
        }
    }

    #[test]
    fn a_million_flows_that_are_not_ahead_for_long_take_few_places() {
        let mut tags = FlowTags::new();
        for flow in 0..pifolab_testkit::steps(1_000_000, 2_000) as u32 {
            let floor = u64::from(flow) * 100;
            *tags.get_mut(flow, floor) = floor + 1_000;
        }
        assert!(tags.places.len() <= 128, "{} places for ten flows", tags.places.len());
    }

    #[test]
    fn any_number_may_be_a_flow() {
        let mut tags = FlowTags::new();
        assert_eq!((tags.get(0), tags.get(u32::MAX), tags.find_mut(0)), (0, 0, None));
        *tags.get_mut(u32::MAX, 0) = 7;
        assert_eq!((tags.get(0), tags.get(u32::MAX)), (0, 7));
        assert_eq!(tags.listed().collect::<Vec<_>>(), [(u32::MAX, 7)]);
    }
}
