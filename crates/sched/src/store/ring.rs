//! A first-in first-out ring.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

/// A first-in first-out ring that grows to its working size once and then allocates no more.
///
/// Two counters run freely, one of all items pushed and one of all popped. `push` writes only the first and `pop` only
/// the second, so that neither waits for the other's write.
#[derive(Debug)]
pub struct Ring<T> {
    /// A power of two of places, or none.
    places: Vec<MaybeUninit<T>>,
    pushed: usize,
    popped: usize,
}

impl<T> Ring<T> {
    /// An empty ring with room for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        let places = if capacity == 0 { 0 } else { capacity.next_power_of_two() };
        Self { places: uninit(places), pushed: 0, popped: 0 }
    }

    /// Puts an item at the end. O(1), amortised where the ring grows.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.len() == self.places.len() {
            self.grow();
        }
        let at = self.place(self.pushed);
        // SAFETY: there is a place, and the mask keeps `at` among them.
        unsafe { self.places.get_unchecked_mut(at) }.write(item);
        self.pushed = self.pushed.wrapping_add(1);
    }

    /// Takes the item that has waited longest. O(1).
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let at = self.place(self.popped);
        self.popped = self.popped.wrapping_add(1);
        // SAFETY: the mask keeps `at` among the places; items from `popped` to `pushed` are initialised, and this one is
        // no longer among them.
        Some(unsafe { self.places.get_unchecked(at).assume_init_read() })
    }

    /// The item that has waited longest. O(1).
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the mask keeps the place among the places; items from `popped` to `pushed` are initialised.
        Some(unsafe { self.places.get_unchecked(self.place(self.popped)).assume_init_ref() })
    }

    /// The place of the item with this running number.
    #[inline]
    fn place(&self, number: usize) -> usize {
        number & self.places.len().wrapping_sub(1)
    }

    /// Moves to twice as many places, oldest item first.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let len = self.len();
        let mut places = uninit((2 * self.places.len()).max(4));
        for place in &mut places[..len] {
            *place = MaybeUninit::new(self.pop().expect("there are `len` items"));
        }
        *self = Self { places, pushed: len, popped: 0 };
    }

    /// Items held.
    #[inline]
    pub fn len(&self) -> usize {
        self.pushed.wrapping_sub(self.popped)
    }

    /// Whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pushed == self.popped
    }
}

fn uninit<T>(places: usize) -> Vec<MaybeUninit<T>> {
    core::iter::repeat_with(MaybeUninit::uninit).take(places).collect()
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            while self.pop().is_some() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use alloc::rc::Rc;

    #[test]
    fn agrees_with_a_deque_while_it_wraps_and_grows() {
        for capacity in [0, 1, 5] {
            let (mut ring, mut deque) = (Ring::with_capacity(capacity), VecDeque::new());
            for step in 0..1000u32 {
                // Slowly rising, with many wraps on the way.
                if step % 7 < 4 {
                    ring.push(step);
                    deque.push_back(step);
                } else {
                    assert_eq!(ring.front(), deque.front());
                    assert_eq!(ring.pop(), deque.pop_front());
                }
                assert_eq!((ring.len(), ring.is_empty()), (deque.len(), deque.is_empty()));
            }
            assert!(core::iter::from_fn(|| ring.pop()).eq(deque));
        }
    }

    #[test]
    fn drops_what_it_still_holds() {
        let item = Rc::new(());
        let mut ring = Ring::with_capacity(2);
        for _ in 0..3 {
            ring.push(Rc::clone(&item));
        }
        assert!(ring.pop().is_some());
        drop(ring);
        assert_eq!(Rc::strong_count(&item), 1);
    }
}
