//! A double-ended priority queue for a bounded rank space: one bucket per rank under a tree of bit words.

use super::slab::Slab;
use alloc::vec::Vec;

/// Items in buckets 0..n-1, first-in first-out within each, open at both ends.
///
/// A tree of 64-bit words marks the buckets that hold something; finding the first or last of them is one
/// find-first-set per level (three levels for 2^16 buckets, four for 2^20). Every operation is O(log_64 n), whatever
/// the occupancy. The memory is 4 bytes per bucket: only the youngest item is looked up there, and the items of a bucket
/// form a circle that leads from it to the oldest.
#[derive(Debug)]
pub struct RankBuckets<T> {
    /// The slot of the youngest item of each bucket; meaningful only where its bit is set.
    youngest: Vec<u32>,
    /// Bit words, the level with one bit per bucket first, the single root word last.
    levels: Vec<Vec<u64>>,
    slab: Slab<Node<T>>,
    len: usize,
}

#[derive(Debug)]
struct Node<T> {
    item: T,
    /// The next older item; that of the oldest is the youngest.
    before: u32,
    /// The next younger item; that of the youngest is the oldest.
    after: u32,
}

impl<T> RankBuckets<T> {
    /// Holds nothing; has `buckets` buckets, and room for `capacity` items without growing.
    ///
    /// # Panics
    /// Without buckets.
    pub fn new(buckets: usize, capacity: usize) -> Self {
        assert!(buckets > 0, "there must be a bucket");
        let mut levels = Vec::new();
        let mut bits = buckets;
        loop {
            let words = bits.div_ceil(64);
            levels.push(alloc::vec![0; words]);
            if words == 1 {
                break;
            }
            bits = words;
        }
        Self { youngest: alloc::vec![0; buckets], levels, slab: Slab::with_capacity(capacity), len: 0 }
    }

    /// How many buckets there are.
    #[inline]
    pub fn buckets(&self) -> usize {
        self.youngest.len()
    }

    /// Items held.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts an item at the end of `bucket`.
    ///
    /// # Panics
    /// If there is no such bucket.
    #[inline]
    pub fn push(&mut self, bucket: usize, item: T) {
        let youngest = &mut self.youngest[bucket];
        self.len += 1;
        if self.levels[0][bucket / 64] >> (bucket % 64) & 1 == 0 {
            *youngest = self.slab.insert_with(|slot| Node { item, before: slot, after: slot });
            self.mark(bucket);
            return;
        }
        let last = *youngest;
        // SAFETY: the slots of an occupied bucket's circle are in use.
        let first = unsafe { self.slab.get(last) }.after;
        let slot = self.slab.insert_with(|_| Node { item, before: last, after: first });
        *youngest = slot;
        // SAFETY: as above.
        unsafe {
            self.slab.get_mut(last).after = slot;
            self.slab.get_mut(first).before = slot;
        }
    }

    /// Sets the bit of a bucket and, where a word was empty, the bits above it.
    #[inline]
    fn mark(&mut self, mut bit: usize) {
        for level in &mut self.levels {
            let word = &mut level[bit / 64];
            let was = *word;
            *word |= 1 << (bit % 64);
            if was != 0 {
                break;
            }
            bit /= 64;
        }
    }

    /// Clears the bit of a bucket and, where a word becomes empty, the bits above it.
    #[inline]
    fn clear(&mut self, mut bit: usize) {
        for level in &mut self.levels {
            let word = &mut level[bit / 64];
            *word &= !(1 << (bit % 64));
            if *word != 0 {
                break;
            }
            bit /= 64;
        }
    }

    /// The first bucket that holds an item.
    #[inline]
    pub fn first_bucket(&self) -> Option<usize> {
        let descend = |at: usize, level: &Vec<u64>| at * 64 + level[at].trailing_zeros() as usize;
        (self.len > 0).then(|| self.levels.iter().rev().fold(0, descend))
    }

    /// The last bucket that holds an item.
    #[inline]
    pub fn last_bucket(&self) -> Option<usize> {
        let descend = |at: usize, level: &Vec<u64>| at * 64 + 63 - level[at].leading_zeros() as usize;
        (self.len > 0).then(|| self.levels.iter().rev().fold(0, descend))
    }

    /// Takes the oldest item of the first bucket that holds one.
    #[inline]
    pub fn pop_first(&mut self) -> Option<T> {
        let bucket = self.first_bucket()?;
        let last = self.youngest[bucket];
        // SAFETY: the slots of an occupied bucket's circle are in use.
        let first = unsafe { self.slab.get(last) }.after;
        // SAFETY: as above; the oldest leaves the circle here.
        let Node { item, after, .. } = unsafe { self.slab.take(first) };
        self.len -= 1;
        if first == last {
            self.clear(bucket);
        } else {
            // SAFETY: as above; these two are still in the circle.
            unsafe {
                self.slab.get_mut(last).after = after;
                self.slab.get_mut(after).before = last;
            }
        }
        Some(item)
    }

    /// Takes the youngest item of the last bucket that holds one.
    #[inline]
    pub fn pop_last(&mut self) -> Option<T> {
        let bucket = self.last_bucket()?;
        let last = self.youngest[bucket];
        // SAFETY: the slots of an occupied bucket's circle are in use, and the youngest leaves it here.
        let Node { item, before, after } = unsafe { self.slab.take(last) };
        self.len -= 1;
        if before == last {
            self.clear(bucket);
        } else {
            self.youngest[bucket] = before;
            // SAFETY: as above; these two are still in the circle.
            unsafe {
                self.slab.get_mut(before).after = after;
                self.slab.get_mut(after).before = before;
            }
        }
        Some(item)
    }

    /// Buckets and items from the last to the first.
    pub fn iter_from_last(&self) -> impl Iterator<Item = (usize, &T)> {
        let words = self.levels[0].iter().enumerate().rev();
        let buckets = words.flat_map(|(index, word)| {
            (0..64).rev().filter(move |bit| word >> bit & 1 != 0).map(move |bit| index * 64 + bit)
        });
        buckets.flat_map(move |bucket| {
            let youngest = self.youngest[bucket];
            let mut next = Some(youngest);
            core::iter::from_fn(move || {
                // SAFETY: the slots of an occupied bucket's circle are in use.
                let node = unsafe { self.slab.get(next?) };
                next = Some(node.before).filter(|slot| *slot != youngest);
                Some((bucket, &node.item))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_a_sorted_list(
            buckets in prop_oneof![1usize..5, 60usize..70, 4090usize..4100, Just(300_000)],
            ops in proptest::collection::vec((0u8..4, any::<u32>()), 0..400),
        ) {
            let mut queue = RankBuckets::new(buckets, 0);
            let mut list: Vec<(usize, usize)> = Vec::new();
            for (id, (op, draw)) in ops.into_iter().enumerate() {
                match op {
                    0 => prop_assert_eq!(queue.pop_first(), (!list.is_empty()).then(|| list.remove(0).1)),
                    1 => prop_assert_eq!(queue.pop_last(), list.pop().map(|(_, id)| id)),
                    _ => {
                        let bucket = draw as usize % buckets;
                        queue.push(bucket, id);
                        let at = list.partition_point(|(other, _)| *other <= bucket);
                        list.insert(at, (bucket, id));
                    }
                }
                prop_assert_eq!(queue.len(), list.len());
                prop_assert_eq!(queue.first_bucket(), list.first().map(|(bucket, _)| *bucket));
                prop_assert_eq!(queue.last_bucket(), list.last().map(|(bucket, _)| *bucket));
            }
            let all: Vec<_> = queue.iter_from_last().map(|(bucket, id)| (bucket, *id)).collect();
            list.reverse();
            prop_assert_eq!(all, list);
        }
    }
}
