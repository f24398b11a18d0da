//! Twins of deciders: faster code with the same decisions as the papers' loops in `pifolab-sched`.
//!
//! A [`Twin`] replaces one decider for some of its parameters. [`choose`] takes the twin if there is one and
//! [`Form::Twins`] is given; registries, ports, programs that embed the library and benchmarks all call it. If a twin
//! decides differently from its decider, `cargo test -p pifolab-sched --test contract` fails and names it.
#![no_std]

extern crate alloc;
#[macro_use]
extern crate pifolab_units;

mod aifo;
mod bounds;
mod packs;
mod predicted;
mod rifo;
mod sp_pifo;

pub use aifo::Aifo;
pub use packs::Packs;
pub use predicted::Predicted;
pub use rifo::Rifo;
pub use sp_pifo::SpPifo;

use alloc::boxed::Box;
use core::convert::Infallible;
use core::marker::PhantomData;
use pifolab_sched::params::ParamError;
use pifolab_sched::store::{PriorityQueues, Queues};
use pifolab_sched::{
    Arriving, Decider, DropReason, FromParams, Packet, Parts, Queued, Register, Registers, Room, Scheduler,
};

/// The form of an algorithm that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The twin, if there is one.
    #[default]
    Twins,
    /// The plain text, even if there is a twin.
    Plain,
}

/// A decider that replaces another one.
pub trait Twin: Decider + Send + Sized + 'static {
    /// The replaced decider.
    type Of: FromParams + Send + 'static;
    /// The container of the packets: several queues, or one.
    type Queues: Queues<Packet> + Send + 'static;

    /// The twin of the decider with these parameters, if there is one.
    fn of(params: &<Self::Of as FromParams>::Params) -> Option<Self>;

    /// The scheduler with these parameters in parts, for ports that store less of each packet than its descriptor.
    ///
    /// A provided method would be compiled with the options of the crate that calls it, which the C library optimises
    /// for size. That costs AIFO 40 % more instructions per packet. Twins that are generic are compiled there all the same.
    ///
    /// # Errors
    /// The parameters do not fit together.
    fn parts(params: <Self::Of as FromParams>::Params, form: Form) -> Result<Parts, ParamError>;
}

/// A function that is generic in the type of a scheduler.
pub trait With {
    /// Its result.
    type Output;

    /// Calls it with the decider and the capacities of its queues.
    fn with<D: Decider + Send + 'static, Q: Queues<Packet> + Send + 'static>(
        self,
        scheduler: Queued<D, Packet, Q>,
    ) -> Self::Output;
}

/// Passes the decider with these parameters to `with`: the twin `W` if there is one and `form` is [`Form::Twins`], else
/// the plain decider.
pub fn choose<W: Twin, U: With>(
    params: <W::Of as FromParams>::Params,
    form: Form,
    with: U,
) -> Result<U::Output, ParamError> {
    let twin = if form == Form::Twins { W::of(&params) } else { None };
    let (decider, capacities) = W::Of::from_params(params)?;
    Ok(match twin {
        Some(twin) => with.with(Queued::<_, _, W::Queues>::with_decider(twin, &capacities)),
        None => with.with(Queued::<_, _, W::Queues>::with_decider(decider, &capacities)),
    })
}

/// The scheduler with these parameters, boxed.
pub fn scheduler<W: Twin>(
    params: <W::Of as FromParams>::Params,
    form: Form,
) -> Result<Box<dyn Scheduler + Send>, ParamError> {
    struct Boxed;
    impl With for Boxed {
        type Output = Box<dyn Scheduler + Send>;

        fn with<D: Decider + Send + 'static, Q: Queues<Packet> + Send + 'static>(
            self,
            scheduler: Queued<D, Packet, Q>,
        ) -> Self::Output {
            Box::new(scheduler)
        }
    }
    choose::<W, _>(params, form, Boxed)
}

struct InParts;

impl With for InParts {
    type Output = Parts;

    fn with<D: Decider + Send + 'static, Q: Queues<Packet> + Send + 'static>(
        self,
        scheduler: Queued<D, Packet, Q>,
    ) -> Parts {
        scheduler.into()
    }
}

/// The method [`Twin::parts`].
macro_rules! in_parts {
    () => {
        fn parts(
            params: <Self::Of as ::pifolab_sched::FromParams>::Params,
            form: $crate::Form,
        ) -> Result<::pifolab_sched::Parts, ::pifolab_sched::params::ParamError> {
            $crate::choose::<Self, _>(params, form, $crate::InParts)
        }
    };
}
use in_parts;

/// For a decider `D` without a twin; its packets wait in `Q`.
#[derive(Debug)]
pub struct NoTwin<D, Q = PriorityQueues>(Infallible, PhantomData<fn() -> (D, Q)>);

impl<D, Q> Registers for NoTwin<D, Q> {
    fn registers(&self, _each: &mut dyn FnMut(&dyn Register)) {
        match self.0 {}
    }

    fn registers_mut(&mut self, _each: &mut dyn FnMut(&mut dyn Register)) {
        match self.0 {}
    }
}

impl<D, Q> Decider for NoTwin<D, Q> {
    fn decide(&mut self, _packet: Arriving, _queues: &[Room]) -> Result<usize, DropReason> {
        match self.0 {}
    }
}

impl<D: FromParams + Send + 'static, Q: Queues<Packet> + Send + 'static> Twin for NoTwin<D, Q> {
    type Of = D;
    type Queues = Q;

    fn of(_params: &D::Params) -> Option<Self> {
        None
    }

    in_parts!();
}

/// The methods of a twin that forward to its decider, `self.$decider`.
macro_rules! as_the_decider {
    ($decider:tt) => {
        fn ranks_of(&self, queue: usize, queues: &[::pifolab_sched::Room]) -> ::pifolab_sched::RankInterval {
            self.$decider.ranks_of(queue, queues)
        }
        fn refused_at(&self, packet: ::pifolab_sched::Arriving, queues: &[::pifolab_sched::Room]) -> Option<usize> {
            self.$decider.refused_at(packet, queues)
        }
    };
}
use as_the_decider;

/// The registers of a twin are those of its decider, `self.$decider`.
macro_rules! remembers_as {
    (<$inner:ident, $queues:ident> $name:ident.$decider:tt) => {
        impl<$inner: ::pifolab_sched::Registers, $queues> ::pifolab_sched::Registers for $name<$inner, $queues> {
            $crate::remembers_as!(@methods $decider);
        }
    };
    ($name:ident.$decider:tt) => {
        impl ::pifolab_sched::Registers for $name {
            $crate::remembers_as!(@methods $decider);
        }
    };
    (@methods $decider:tt) => {
        fn registers(&self, each: &mut dyn FnMut(&dyn ::pifolab_sched::Register)) {
            self.$decider.registers(each);
        }
        fn registers_mut(&mut self, each: &mut dyn FnMut(&mut dyn ::pifolab_sched::Register)) {
            self.$decider.registers_mut(each);
        }
    };
}
use remembers_as;

/// The example of the readme.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
