//! A double-ended priority queue for a bounded rank space: one bucket per rank under a tree of bit words.

use super::bit_tree::{BitTree, FAN, Neighbours};
use super::double_ended::DoubleEnded;
use super::slab::Slab;
use crate::Item;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// Up to this many buckets every bucket has a fixed page: all pages fit in the second-level cache.
const DENSE: usize = 1 << 16;

/// Items in buckets 0..n-1, first-in first-out within each, open at both ends.
///
/// A tree of bits marks the non-empty buckets and finds the first and the last of them. Every operation is O(log_64 n),
/// whatever the occupancy. The look-up table has only the youngest item of a bucket; the items of a bucket form a ring
/// that leads from it to the oldest. Look-ups of 64 neighbouring buckets share a page. With up to 2^16 buckets every
/// page is permanent. With more, a page is lent only while one of its buckets is occupied, so that a few items in a
/// large rank space touch little memory, which stays in the cache. The memory is a bit per bucket and 256 bytes for
/// each page.
#[derive(Debug)]
pub struct RankBuckets<T> {
    buckets: usize,
    occupied: BitTree,
    /// The page of each 64 buckets; valid only where one of them is occupied. Empty if all pages are permanent.
    page_of: Box<[u32]>,
    /// The slot of the youngest item of each bucket; valid only where the bucket is occupied.
    pages: Vec<[u32; FAN]>,
    /// Unused pages.
    spare: Vec<u32>,
    slab: Slab<Node<T>>,
}

clone_by_field!(<T> RankBuckets { buckets, occupied, page_of, pages, spare, slab });

#[derive(Clone, Debug, Default)]
struct Node<T> {
    item: T,
    /// The next older item; that of the oldest is the youngest.
    before: u32,
    /// The next younger item; that of the youngest is the oldest.
    after: u32,
}

impl<T: Item> RankBuckets<T> {
    /// An empty queue with `buckets` buckets, and room for `capacity` items without growing.
    ///
    /// # Panics
    /// Without buckets, or with more than 2^24.
    pub fn new(buckets: usize, capacity: usize) -> Self {
        let (dense, words) = (buckets <= DENSE, buckets.div_ceil(FAN));
        Self {
            buckets,
            occupied: BitTree::new(buckets),
            page_of: alloc::vec![0; if dense { 0 } else { words }].into(),
            pages: alloc::vec![[0; FAN]; if dense { words } else { 0 }],
            spare: Vec::new(),
            slab: Slab::with_capacity(capacity),
        }
    }

    /// How many buckets there are.
    #[inline(always)]
    pub fn buckets(&self) -> usize {
        self.buckets
    }

    /// Bytes of the tree and the look-up pages of an empty queue.
    pub const fn bytes_of_buckets(&self) -> usize {
        let pages = self.pages.len() * size_of::<[u32; FAN]>() + self.page_of.len() * size_of::<u32>();
        pages + self.buckets / 8
    }

    /// Items held.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether it holds nothing.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.slab.len() == 0
    }

    /// The youngest item of an occupied bucket.
    #[inline(always)]
    fn youngest(&mut self, bucket: usize) -> &mut u32 {
        let page = self.page(bucket);
        &mut self.pages[page][bucket % FAN]
    }

    /// The page of an occupied bucket.
    #[inline(always)]
    fn page(&self, bucket: usize) -> usize {
        let word = bucket / FAN;
        if self.page_of.is_empty() { word } else { self.page_of[word] as usize }
    }

    /// Lends a page to 64 buckets when the first of them becomes occupied.
    #[inline(always)]
    fn lend_page(&mut self, bucket: usize) {
        if !self.page_of.is_empty() {
            self.page_of[bucket / FAN] = match self.spare.pop() {
                Some(page) => page,
                None => self.add_page(),
            };
        }
    }

    #[cold]
    #[inline(never)]
    fn add_page(&mut self) -> u32 {
        self.pages.push([0; FAN]);
        // The list then has room for every page, so `return_page` does not allocate.
        self.spare.reserve(self.pages.len());
        self.pages.len() as u32 - 1
    }

    /// Takes back the page of 64 buckets when the last occupied one of them becomes empty.
    #[inline(always)]
    fn return_page(&mut self, bucket: usize) {
        if !self.page_of.is_empty() {
            self.spare.push(self.page_of[bucket / FAN]);
        }
    }
}

impl<T: Item> DoubleEnded<T> for RankBuckets<T> {
    /// # Panics
    /// If there is no bucket for this rank.
    #[inline(always)]
    fn insert(&mut self, rank: Rank, item: T) {
        let bucket = rank.get() as usize;
        assert!(bucket < self.buckets, "there is no bucket {bucket}");
        if self.occupied.contains(bucket) {
            let last = *self.youngest(bucket);
            let first = self.slab.get(last).after;
            let slot = self.slab.insert_with(|_| Node { item, before: last, after: first });
            *self.youngest(bucket) = slot;
            self.slab.get_mut(last).after = slot;
            self.slab.get_mut(first).before = slot;
        } else {
            let slot = self.slab.insert_with(|slot| Node { item, before: slot, after: slot });
            if self.occupied.insert(bucket) == Neighbours::Absent {
                self.lend_page(bucket);
            }
            *self.youngest(bucket) = slot;
        }
    }

    #[inline(always)]
    fn last_rank(&self) -> Option<Rank> {
        self.occupied.greatest().map(rank_of)
    }

    #[inline(always)]
    fn pop_first(&mut self) -> Option<T> {
        let bucket = self.occupied.least()?;
        let last = *self.youngest(bucket);
        let first = self.slab.get(last).after;
        let Node { item, after, .. } = self.slab.take(first);
        if first != last {
            self.slab.get_mut(last).after = after;
            self.slab.get_mut(after).before = last;
        } else if self.occupied.remove_least() == Neighbours::Absent {
            self.return_page(bucket);
        }
        Some(item)
    }

    #[inline(always)]
    fn pop_last(&mut self) -> Option<T> {
        let bucket = self.occupied.greatest()?;
        let last = *self.youngest(bucket);
        let Node { item, before, after } = self.slab.take(last);
        if before != last {
            *self.youngest(bucket) = before;
            self.slab.get_mut(before).after = after;
            self.slab.get_mut(after).before = before;
        } else if self.occupied.remove_greatest() == Neighbours::Absent {
            self.return_page(bucket);
        }
        Some(item)
    }

    fn iter_from_last<'a>(&'a self) -> impl Iterator<Item = (Rank, &'a T)>
    where
        T: 'a,
    {
        let buckets = (0..self.buckets.div_ceil(FAN)).rev().flat_map(|index| {
            let word = self.occupied.word(index);
            (0..FAN).rev().filter(move |bit| word >> bit & 1 != 0).map(move |bit| index * FAN + bit)
        });
        buckets.flat_map(move |bucket| {
            let youngest = self.pages[self.page(bucket)][bucket % FAN];
            let mut next = Some(youngest);
            core::iter::from_fn(move || {
                let node = self.slab.get(next?);
                next = Some(node.before).filter(|slot| *slot != youngest);
                Some((rank_of(bucket), &node.item))
            })
        })
    }
}

/// The rank of a bucket.
#[inline(always)]
fn rank_of(bucket: usize) -> Rank {
    Rank::saturating(bucket as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packet;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(pifolab_testkit::cases(60))]

        #[test]
        fn agrees_with_a_sorted_list(
            buckets in prop_oneof![1usize..5, 60usize..70, 4090usize..4100, Just(pifolab_testkit::steps(300_000, 5_000) as usize)],
            ops in proptest::collection::vec((0u8..4, any::<u32>()), 0..400),
        ) {
            let mut queue = RankBuckets::new(buckets, 0);
            let mut list: Vec<(usize, u64)> = Vec::new();
            for (id, (op, draw)) in (0..).zip(ops) {
                match op {
                    0 => prop_assert_eq!(queue.pop_first().map(|packet: Packet| packet.id), (!list.is_empty()).then(|| list.remove(0).1)),
                    1 => prop_assert_eq!(queue.pop_last().map(|packet| packet.id), list.pop().map(|(_, id)| id)),
                    _ => {
                        let bucket = draw as usize % buckets;
                        queue.insert(rank_of(bucket), Packet { id, ..Packet::default() });
                        let at = list.partition_point(|(other, _)| *other <= bucket);
                        list.insert(at, (bucket, id));
                    }
                }
                prop_assert_eq!(queue.len(), list.len());
                prop_assert_eq!(queue.last_rank(), list.last().map(|(bucket, _)| rank_of(*bucket)));
            }
            let all: Vec<_> = queue.iter_from_last().map(|(rank, packet)| (rank.get() as usize, packet.id)).collect();
            list.reverse();
            prop_assert_eq!(all, list);
        }
    }
}
