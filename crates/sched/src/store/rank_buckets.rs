//! A double-ended priority queue for a bounded rank space: one bucket per rank under a tree of bit words.

use super::slab::Slab;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Buckets under one bit word.
const FAN: usize = 64;

/// Up to this many buckets the look-ups of all stand at fixed places: they fit in the second-level cache.
const DENSE: usize = 1 << 16;

/// Levels of bit words, whatever the number of buckets: there are at most 64^4.
const LEVELS: usize = 4;

/// Items in buckets 0..n-1, first-in first-out within each, open at both ends.
///
/// A tree of 64-bit words marks the buckets that hold something; finding the first or last of them is one
/// find-first-set per level (three levels for 2^16 buckets, four for 2^20). Every operation is O(log_64 n), whatever
/// the occupancy. Only the youngest item of a bucket is looked up, and the items of a bucket form a circle that leads from
/// it to the oldest. Look-ups of 64 neighbouring buckets share a page. Up to 2^16 buckets each has its page for ever;
/// beyond, a page is lent while one of its buckets holds something: a few items in a large rank space then touch little
/// memory, which stays in the cache. The memory is a bit per bucket and 256 bytes for each page.
#[derive(Debug)]
pub struct RankBuckets<T> {
    buckets: usize,
    /// Bit words, the level with one bit per bucket first, the single root word last.
    words: Box<[u64]>,
    /// Where each level begins in `words`; all levels from `depth - 1` on are the root.
    begin: [usize; LEVELS],
    depth: usize,
    /// The page of each word of the first level; meaningful only where the word is not 0. Empty if every word has a page
    /// for ever.
    page_of: Box<[u32]>,
    /// The slot of the youngest item of each bucket; meaningful only where its bit is set.
    pages: Vec<[u32; FAN]>,
    /// Pages in use nowhere.
    spare: Vec<u32>,
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
    /// Without buckets, or with more than 2^24.
    pub fn new(buckets: usize, capacity: usize) -> Self {
        assert!((1..=FAN.pow(LEVELS as u32)).contains(&buckets), "there must be from 1 to 2^24 buckets, not {buckets}");
        let dense = buckets <= DENSE;
        let (mut begin, mut depth, mut words, mut bits) = ([0; LEVELS], 0, 0, buckets);
        while depth == 0 || bits > 1 {
            bits = bits.div_ceil(FAN);
            begin[depth] = words;
            words += bits;
            depth += 1;
        }
        Self {
            buckets,
            words: alloc::vec![0; words].into(),
            begin,
            depth,
            page_of: alloc::vec![0; if dense { 0 } else { buckets.div_ceil(FAN) }].into(),
            pages: alloc::vec![[0; FAN]; if dense { buckets.div_ceil(FAN) } else { 0 }],
            spare: Vec::new(),
            slab: Slab::with_capacity(capacity),
            len: 0,
        }
    }

    /// How many buckets there are.
    #[inline]
    pub fn buckets(&self) -> usize {
        self.buckets
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
        assert!(bucket < self.buckets, "there is no bucket {bucket}");
        self.len += 1;
        if self.words[bucket / FAN] >> (bucket % FAN) & 1 == 0 {
            let slot = self.slab.insert_with(|slot| Node { item, before: slot, after: slot });
            self.mark(bucket);
            *self.youngest(bucket) = slot;
            return;
        }
        let last = *self.youngest(bucket);
        // SAFETY: the slots of an occupied bucket's circle are in use.
        let first = unsafe { self.slab.get(last) }.after;
        let slot = self.slab.insert_with(|_| Node { item, before: last, after: first });
        *self.youngest(bucket) = slot;
        // SAFETY: as above.
        unsafe {
            self.slab.get_mut(last).after = slot;
            self.slab.get_mut(first).before = slot;
        }
    }

    /// The page of a word of the first level that is not 0.
    #[inline(always)]
    fn page(&self, word: usize) -> usize {
        if self.page_of.is_empty() { word } else { self.page_of[word] as usize }
    }

    /// The look-up of a bucket whose bit is set.
    #[inline(always)]
    fn youngest(&mut self, bucket: usize) -> &mut u32 {
        let page = self.page(bucket / FAN);
        &mut self.pages[page][bucket % FAN]
    }

    /// Sets the bit of a bucket and, where a word was empty, the bits above it. A word that was empty gets a page.
    #[inline(always)]
    fn mark(&mut self, bucket: usize) {
        let word = &mut self.words[bucket / FAN];
        let was = core::mem::replace(word, *word | 1 << (bucket % FAN));
        if was != 0 {
            return;
        }
        if !self.page_of.is_empty() {
            self.page_of[bucket / FAN] = match self.spare.pop() {
                Some(page) => page,
                None => self.add_page(),
            };
        }
        let mut bit = bucket / FAN;
        for begin in &self.begin[1..self.depth] {
            let word = &mut self.words[begin + bit / FAN];
            let was = core::mem::replace(word, *word | 1 << (bit % FAN));
            if was != 0 {
                break;
            }
            bit /= FAN;
        }
    }

    #[cold]
    #[inline(never)]
    fn add_page(&mut self) -> u32 {
        self.pages.push([0; FAN]);
        self.pages.len() as u32 - 1
    }

    /// Clears the bit of a bucket and, where a word becomes empty, the bits above it. An empty word gives up its page.
    #[inline(always)]
    fn clear(&mut self, bucket: usize) {
        let mut bit = bucket;
        for begin in &self.begin[..self.depth] {
            let word = &mut self.words[begin + bit / FAN];
            *word &= !(1 << (bit % FAN));
            if *word != 0 {
                break;
            }
            bit /= FAN;
        }
        if !self.page_of.is_empty() && self.words[bucket / FAN] == 0 {
            self.spare.push(self.page_of[bucket / FAN]);
        }
    }

    /// The bucket that is found from the root down by choosing a bit of each word.
    #[inline(always)]
    fn find(&self, choose: impl Fn(u64) -> u32) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let mut at = 0;
        for begin in self.begin[..self.depth].iter().rev() {
            at = at * FAN + choose(self.words[begin + at]) as usize;
        }
        Some(at)
    }

    /// The first bucket that holds an item.
    #[inline]
    pub fn first_bucket(&self) -> Option<usize> {
        self.find(u64::trailing_zeros)
    }

    /// The last bucket that holds an item.
    #[inline]
    pub fn last_bucket(&self) -> Option<usize> {
        self.find(|word| 63 - word.leading_zeros())
    }

    /// Takes the oldest item of the first bucket that holds one.
    #[inline]
    pub fn pop_first(&mut self) -> Option<T> {
        let bucket = self.first_bucket()?;
        let last = *self.youngest(bucket);
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
        let last = *self.youngest(bucket);
        // SAFETY: the slots of an occupied bucket's circle are in use, and the youngest leaves it here.
        let Node { item, before, after } = unsafe { self.slab.take(last) };
        self.len -= 1;
        if before == last {
            self.clear(bucket);
        } else {
            *self.youngest(bucket) = before;
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
        let words = self.words[..self.buckets.div_ceil(FAN)].iter().enumerate().rev();
        let buckets = words.flat_map(|(index, word)| {
            (0..FAN).rev().filter(move |bit| word >> bit & 1 != 0).map(move |bit| (index, bit))
        });
        buckets.flat_map(move |(index, bit)| {
            let youngest = self.pages[self.page(index)][bit];
            let mut next = Some(youngest);
            core::iter::from_fn(move || {
                // SAFETY: the slots of an occupied bucket's circle are in use.
                let node = unsafe { self.slab.get(next?) };
                next = Some(node.before).filter(|slot| *slot != youngest);
                Some((index * FAN + bit, &node.item))
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
