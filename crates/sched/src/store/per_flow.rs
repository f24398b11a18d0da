//! State per flow without hashing: an array in pages.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// One `T` for each flow, the default until it is first written.
///
/// Flows are dense indices from 0: the directory has one pointer for each page of flows up to the largest one seen. An
/// access costs two loads; a page is allocated when its first flow appears. A page of 64 flows has 512 bytes of 64-bit
/// state, so that a port that sees few of many flows pays for those few. Larger pages keep the directory small if flow
/// numbers are large.
#[derive(Clone, Debug, Default)]
pub struct PerFlow<T, const PAGE: usize = 64> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
}

impl<T: Copy + Default, const PAGE: usize> PerFlow<T, PAGE> {
    /// No flow yet.
    pub const fn new() -> Self {
        Self { pages: Vec::new() }
    }

    /// The state of `flow`.
    #[inline]
    pub fn get(&self, flow: u32) -> T {
        let flow = flow as usize;
        match self.pages.get(flow / PAGE) {
            Some(Some(page)) => page[flow % PAGE],
            _ => T::default(),
        }
    }

    /// The state of `flow`, mutable.
    #[inline]
    pub fn get_mut(&mut self, flow: u32) -> &mut T {
        let (page, place) = (flow as usize / PAGE, flow as usize % PAGE);
        if !matches!(self.pages.get(page), Some(Some(_))) {
            self.grow(page);
        }
        &mut self.pages[page].as_mut().expect("the page is there")[place]
    }

    #[cold]
    fn grow(&mut self, page: usize) {
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page] = Some(Box::new([T::default(); PAGE]));
    }

    /// Bytes of state for each flow.
    pub const fn flow_bytes(&self) -> usize {
        size_of::<T>()
    }

    /// Every flow that has a page, and its state, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, T)> {
        let pages = self.pages.iter().enumerate().filter_map(|(page, held)| Some((page, held.as_ref()?)));
        pages.flat_map(|(page, held)| held.iter().enumerate().map(move |(place, state)| (page * PAGE + place, *state)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_start_at_the_default_and_keep_what_is_written() {
        let mut state: PerFlow<u64> = PerFlow::new();
        for flow in [0, 63, 64, 100_000] {
            assert_eq!(state.get(flow), 0);
            *state.get_mut(flow) += u64::from(flow) + 1;
        }
        for flow in [0, 63, 64, 100_000] {
            assert_eq!(state.get(flow), u64::from(flow) + 1);
        }
        assert_eq!(state.get(1), 0);
        assert_eq!(state.get(u32::MAX), 0);
        let written: Vec<_> = state.iter().filter(|(_, state)| *state > 0).collect();
        assert_eq!(written, [(0, 1), (63, 64), (64, 65), (100_000, 100_001)]);
    }
}
