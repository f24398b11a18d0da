//! The state that an algorithm keeps from packet to packet, as one list of registers. Observers show it, searches
//! compare it, a successor resumes from it, and the memory estimate sums it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// One part of an algorithm's state: a number, a list of bounds, a window of ranks.
pub trait Register {
    /// Calls `visit` with every number that later decisions depend on. Two registers must visit equal sequences of
    /// numbers exactly if later decisions cannot differ by them. A window visits the number of its ranks, then the
    /// ranks, oldest first.
    fn visit_state(&self, visit: &mut dyn FnMut(i64));

    /// Calls `visit` with each rank of the sliding window, oldest first; never if the register is no window.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        let _ = visit;
    }

    /// Its memory beside the value itself.
    fn kept(&self) -> Kept {
        Kept::default()
    }

    /// Resumes from the same register of an algorithm with other parameters: `state` has the numbers of that register,
    /// and `window` the ranks of that algorithm's window. Numbers that do not fit are left out. By default the register
    /// keeps its initial state.
    fn resume(&mut self, window: &[Rank], state: &[i64]) {
        let _ = (window, state);
    }
}

/// The registers of an algorithm, always in the same order. The macro [`registers!`](crate::registers) implements it.
pub trait Registers {
    /// Calls `each` with every register.
    fn registers(&self, each: &mut dyn FnMut(&dyn Register));

    /// As [`registers`](Self::registers), mutable.
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

/// Lists the registers of a decider and, after `and`, its other fields: parameters, and fields that no decision depends
/// on. Implements [`Registers`] and [`Clone`]. A field that is in neither list does not compile.
///
/// ```
/// use pifolab_sched::{Arriving, Decider, DropReason, Room, registers};
///
/// /// Chooses its queues in turn.
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
/// For a decider that wraps another one, `registers!(<D> Name around decider { .. } and { .. })` lists the registers of
/// the field `decider` first. A decider whose numbers have a meaning only together is a single [`Register`]:
/// `registers!(Name itself)`.
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

/// Bounds, one for each queue. A longer list resumes by repeating the last bound.
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

/// A register that exists only with some parameters.
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

/// Memory that is no register of an algorithm: queues of flows, look-up tables.
impl Register for Kept {
    fn visit_state(&self, _visit: &mut dyn FnMut(i64)) {}

    fn kept(&self) -> Kept {
        *self
    }
}

/// The memory of a scheduler besides its queues and the packets in them, for an estimate before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Bytes allocated at its construction: queues of flows, look-up tables of ranks, counters, nodes of a tree.
    pub bytes: usize,
    /// Bytes allocated at its first packet.
    pub bytes_at_first_packet: usize,
    /// Ranks that its sliding windows hold once they are full.
    pub window_ranks: usize,
    /// Whether ranks that it computes (the tags of a tree's nodes) have reached the largest rank, beyond which they
    /// order nothing.
    pub has_run_out: bool,
}

impl Kept {
    /// `bytes` bytes and no window.
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
