//! What an algorithm remembers from packet to packet: one list of registers. What observers show, what a search compares, what a
//! successor goes on with and what memory costs follow from that list.

use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// One thing that an algorithm remembers: a number, a list of bounds, a window of ranks.
pub trait Register {
    /// Calls `visit` with every number of it that later decisions depend on: the same numbers, as many and in the same order, for
    /// two registers exactly if later decisions will not differ by them. A window visits the number of its ranks, then the ranks,
    /// oldest first.
    fn visit_state(&self, visit: &mut dyn FnMut(i64));

    /// Calls `visit` with each rank that it shows as a sliding window, oldest first; not at all where it is none.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        let _ = visit;
    }

    /// What it keeps in memory beside the value itself.
    fn kept(&self) -> Kept {
        Kept::default()
    }

    /// Goes on from the same register of an algorithm with other parameters: `state` has that register's numbers, and `window` the
    /// ranks of that algorithm's window. What does not fit is left out. Without this the register starts anew.
    fn resume(&mut self, window: &[Rank], state: &[i64]) {
        let _ = (window, state);
    }
}

/// The registers of an algorithm, always in the same order. The macro [`registers!`](crate::registers) implements it.
pub trait Registers {
    /// Calls `each` with every register.
    fn registers(&self, each: &mut dyn FnMut(&dyn Register));

    /// As [`registers`](Self::registers), to be changed.
    fn registers_mut(&mut self, each: &mut dyn FnMut(&mut dyn Register));
}

impl<D: Registers + ?Sized> Registers for Box<D> {
    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        (**self).registers(each);
    }
    fn registers_mut(&mut self, each: &mut dyn FnMut(&mut dyn Register)) {
        (**self).registers_mut(each);
    }
}

/// Lists the registers of a decider, then after `and` its other fields: parameters, and what decides nothing. From the list follow
/// [`Registers`] and [`Clone`]. A field in neither list does not compile.
///
/// ```
/// use pifolab_sched::{Arriving, Decider, DropReason, Room, registers};
///
/// /// Uses its queues in turn.
/// struct InTurn {
///     next: u64,
///     queues: u64,
/// }
///
/// registers!(InTurn { next } and { queues });
///
/// impl Decider for InTurn {
///     fn decide(&mut self, _packet: Arriving, _queues: &[Room]) -> Result<usize, DropReason> {
///         self.next = (self.next + 1) % self.queues;
///         Ok(self.next as usize)
///     }
/// }
/// ```
///
/// Of a decider around another one, `registers!(<D> Name around decider { .. } and { .. })` lists those of the field `decider` first.
/// A decider whose numbers mean something only together is one [`Register`] itself: `registers!(Name itself)`.
#[macro_export]
macro_rules! registers {
    ($name:ident { $($register:ident),* $(,)? } $(and { $($other:ident),* $(,)? })?) => {
        impl Clone for $name {
            fn clone(&self) -> Self {
                Self { $($register: Clone::clone(&self.$register),)* $($($other: Clone::clone(&self.$other),)*)? }
            }

            fn clone_from(&mut self, source: &Self) {
                let _ = source;
                $(Clone::clone_from(&mut self.$register, &source.$register);)*
                $($(Clone::clone_from(&mut self.$other, &source.$other);)*)?
            }
        }

        impl $crate::Registers for $name {
            fn registers(&self, each: &mut dyn FnMut(&dyn $crate::Register)) {
                let _ = each;
                $(each(&self.$register);)*
            }

            fn registers_mut(&mut self, each: &mut dyn FnMut(&mut dyn $crate::Register)) {
                let _ = each;
                $(each(&mut self.$register);)*
            }
        }
    };
    (<$inner:ident> $name:ident around $decider:ident { $($register:ident),* $(,)? } $(and { $($other:ident),* $(,)? })?) => {
        impl<$inner: Clone> Clone for $name<$inner> {
            fn clone(&self) -> Self {
                Self {
                    $decider: Clone::clone(&self.$decider),
                    $($register: Clone::clone(&self.$register),)*
                    $($($other: Clone::clone(&self.$other),)*)?
                }
            }

            fn clone_from(&mut self, source: &Self) {
                Clone::clone_from(&mut self.$decider, &source.$decider);
                $(Clone::clone_from(&mut self.$register, &source.$register);)*
                $($(Clone::clone_from(&mut self.$other, &source.$other);)*)?
            }
        }

        impl<$inner: $crate::Registers> $crate::Registers for $name<$inner> {
            fn registers(&self, each: &mut dyn FnMut(&dyn $crate::Register)) {
                self.$decider.registers(each);
                $(each(&self.$register);)*
            }

            fn registers_mut(&mut self, each: &mut dyn FnMut(&mut dyn $crate::Register)) {
                self.$decider.registers_mut(each);
                $(each(&mut self.$register);)*
            }
        }
    };
    ($name:ident itself) => {
        impl $crate::Registers for $name {
            fn registers(&self, each: &mut dyn FnMut(&dyn $crate::Register)) {
                each(self);
            }

            fn registers_mut(&mut self, each: &mut dyn FnMut(&mut dyn $crate::Register)) {
                each(self);
            }
        }
    };
}

/// Numbers are registers.
macro_rules! numbers {
    ($($number:ty),+) => {
        $(
            impl Register for $number {
                fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
                    visit(*self as i64);
                }

                fn resume(&mut self, _window: &[Rank], state: &[i64]) {
                    if let [number] = state {
                        *self = *number as Self;
                    }
                }
            }
        )+
    };
}

numbers!(u32, u64, i64);

/// Bounds, one for each queue. A longer list goes on with the last bound.
impl Register for Vec<i64> {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.iter().copied().for_each(visit);
    }

    fn resume(&mut self, _window: &[Rank], state: &[i64]) {
        let Some(last) = state.last() else { return };
        for (place, bound) in self.iter_mut().enumerate() {
            *bound = *state.get(place).unwrap_or(last);
        }
    }
}

/// A register that not every set of parameters has.
impl<R: Register> Register for Option<Box<R>> {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        if let Some(register) = self {
            register.visit_state(visit);
        }
    }

    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        if let Some(register) = self {
            register.visit_window(visit);
        }
    }

    fn kept(&self) -> Kept {
        self.as_ref().map_or_else(Kept::default, |register| register.kept())
    }

    fn resume(&mut self, window: &[Rank], state: &[i64]) {
        if let Some(register) = self {
            register.resume(window, state);
        }
    }
}

/// Memory that is no register of an algorithm: flows' queues, look-ups.
impl Register for Kept {
    fn visit_state(&self, _visit: &mut dyn FnMut(i64)) {}

    fn kept(&self) -> Kept {
        *self
    }
}

/// What a scheduler keeps in memory besides its queues and the packets in them: enough for an estimate before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Bytes from its first moment on: flows' queues, look-ups of ranks, counters, nodes of a tree.
    pub bytes: usize,
    /// Bytes from the first packet on.
    pub bytes_at_first_packet: usize,
    /// Ranks that its sliding windows hold once they are full.
    pub window_ranks: usize,
    /// Whether ranks that it gives itself (the tags of a tree's nodes) have reached the largest one, from where on they are no order.
    pub has_run_out: bool,
}

impl Kept {
    /// So many bytes, and no window.
    pub const fn bytes(bytes: usize) -> Self {
        Self { bytes, bytes_at_first_packet: 0, window_ranks: 0, has_run_out: false }
    }
}

impl core::ops::Add for Kept {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            bytes_at_first_packet: self.bytes_at_first_packet.saturating_add(other.bytes_at_first_packet),
            window_ranks: self.window_ranks.saturating_add(other.window_ranks),
            has_run_out: self.has_run_out || other.has_run_out,
        }
    }
}

impl core::iter::Sum for Kept {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), core::ops::Add::add)
    }
}
