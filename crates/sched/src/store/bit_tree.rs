//! A set of small numbers with fast access to the least and the greatest: a tree of bit words.

use alloc::boxed::Box;

/// Numbers under one bit word.
pub(super) const FAN: usize = 64;

/// Levels of bit words: numbers are below 64^4.
const LEVELS: usize = 4;

/// Numbers below a limit.
///
/// Level 0 has one bit for each number, each higher level one bit for each word of the level below that is not 0. The
/// least and the greatest number are kept. When one of them leaves, its successor is found by going up to the first word
/// that is not empty, and down from there: one find-first-set per level, and only as many levels as are needed.
#[derive(Debug)]
pub(super) struct BitTree {
    /// All levels, level 0 first; each has at least one word.
    words: Box<[u64]>,
    /// Where each level begins in `words`.
    begin: [usize; LEVELS],
    /// The least number; the largest integer in an empty set.
    least: usize,
    /// The greatest number; 0 in an empty set.
    greatest: usize,
}

clone_by_field!(BitTree { words, begin, least, greatest });

/// Whether the set has one of the 63 neighbours in the word of an inserted or removed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Neighbours {
    /// It has at least one.
    Present,
    /// It has none.
    Absent,
}

impl BitTree {
    /// The empty set of numbers below `limit`.
    ///
    /// # Panics
    /// If the limit is 0 or above 2^24.
    pub(super) fn new(limit: usize) -> Self {
        assert!((1..=FAN.pow(LEVELS as u32)).contains(&limit), "the limit must be from 1 to 2^24, not {limit}");
        let (mut begin, mut words, mut bits) = ([0; LEVELS], 0, limit);
        for begin in &mut begin {
            bits = bits.div_ceil(FAN);
            *begin = words;
            words += bits;
        }
        Self { words: alloc::vec![0; words].into(), begin, least: usize::MAX, greatest: 0 }
    }

    /// The least number, if there is any.
    #[inline(always)]
    pub(super) fn least(&self) -> Option<usize> {
        (self.least != usize::MAX).then_some(self.least)
    }

    /// The greatest number, if there is any.
    #[inline(always)]
    pub(super) fn greatest(&self) -> Option<usize> {
        (self.least != usize::MAX).then_some(self.greatest)
    }

    /// Whether the set contains `number`.
    ///
    /// # Panics
    /// May panic if the number is not below the limit.
    #[inline(always)]
    pub(super) fn contains(&self, number: usize) -> bool {
        self.words[number / FAN] >> (number % FAN) & 1 != 0
    }

    /// The word of the numbers from 64 `index` on.
    pub(super) fn word(&self, index: usize) -> u64 {
        self.words[index]
    }

    /// Adds `number`. Returns the state of its neighbours before.
    ///
    /// # Panics
    /// May panic if the number is not below the limit.
    #[inline(always)]
    pub(super) fn insert(&mut self, number: usize) -> Neighbours {
        // Branches instead of minima, so that the next insertion does not depend on these values.
        if number < self.least {
            self.least = number;
        }
        if number > self.greatest {
            self.greatest = number;
        }
        let mut at = number;
        for (level, begin) in self.begin.into_iter().enumerate() {
            let word = &mut self.words[begin + at / FAN];
            let was = core::mem::replace(word, *word | 1 << (at % FAN));
            if was != 0 {
                return if level == 0 { Neighbours::Present } else { Neighbours::Absent };
            }
            at /= FAN;
        }
        Neighbours::Absent
    }

    /// Removes the least number. Returns the state of its neighbours after.
    #[inline(always)]
    pub(super) fn remove_least(&mut self) -> Neighbours {
        let (successor, neighbours) = self.remove(self.least, u64::trailing_zeros);
        match successor {
            Some(least) => self.least = least,
            None => (self.least, self.greatest) = (usize::MAX, 0),
        }
        neighbours
    }

    /// Removes the greatest number. Returns the state of its neighbours after.
    #[inline(always)]
    pub(super) fn remove_greatest(&mut self) -> Neighbours {
        let (successor, neighbours) = self.remove(self.greatest, |word| 63 - word.leading_zeros());
        match successor {
            Some(greatest) => self.greatest = greatest,
            None => (self.least, self.greatest) = (usize::MAX, 0),
        }
        neighbours
    }

    /// Removes the number at one end and finds its successor there; `choose` picks the bit of each word.
    #[inline(always)]
    fn remove(&mut self, number: usize, choose: impl Fn(u64) -> u32) -> (Option<usize>, Neighbours) {
        let mut at = number;
        for level in 0..LEVELS {
            let word = &mut self.words[self.begin[level] + at / FAN];
            *word &= !(1 << (at % FAN));
            let word = *word;
            at /= FAN;
            if word != 0 {
                at = at * FAN + choose(word) as usize;
                for begin in self.begin[..level].iter().rev() {
                    at = at * FAN + choose(self.words[begin + at]) as usize;
                }
                return (Some(at), if level == 0 { Neighbours::Present } else { Neighbours::Absent });
            }
        }
        (None, Neighbours::Absent)
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
        fn agrees_with_a_sorted_set(
            limit in prop_oneof![1usize..5, 60usize..70, 4090usize..4100, Just(300_000), Just(1 << 24)],
            ops in proptest::collection::vec((0u8..4, any::<usize>()), 0..pifolab_testkit::steps(400, 50) as usize),
        ) {
            let (mut tree, mut set) = (BitTree::new(limit), BTreeSet::new());
            for (op, draw) in ops {
                let neighbours = |set: &BTreeSet<usize>, number: usize| {
                    let word = number / FAN * FAN;
                    let others = set.range(word..word + FAN).any(|other| *other != number);
                    if others { Neighbours::Present } else { Neighbours::Absent }
                };
                match (op, set.first().copied(), set.last().copied()) {
                    (0, Some(least), _) => {
                        set.remove(&least);
                        prop_assert_eq!(tree.remove_least(), neighbours(&set, least));
                    }
                    (1, _, Some(greatest)) => {
                        set.remove(&greatest);
                        prop_assert_eq!(tree.remove_greatest(), neighbours(&set, greatest));
                    }
                    _ => {
                        let number = draw % limit;
                        prop_assert_eq!(tree.contains(number), set.contains(&number));
                        if set.insert(number) {
                            prop_assert_eq!(tree.insert(number), neighbours(&set, number));
                        }
                    }
                }
                prop_assert_eq!((tree.least(), tree.greatest()), (set.first().copied(), set.last().copied()));
            }
        }
    }
}
