//! Factories of schedulers with checked arguments.

use pifolab_fast::{self as fast, Form, Twin};
use pifolab_sched::entry::BoxedScheduler;
use pifolab_sched::params::{Construct, ParamError};
use pifolab_sched::{Capacity, FromParams, Parts, PlainDecider, Scheduler};
use pifolab_units::Rank;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// The default form of a scheduler: its twin, or the plain text if the environment variable `PIFOLAB_PLAIN` is set, so
/// that every test suite runs both ways.
pub fn usual_form() -> Form {
    if std::env::var_os("PIFOLAB_PLAIN").is_some() { Form::Plain } else { Form::Twins }
}

/// A factory of one scheduler with checked arguments: it makes any number of them, in either form, without reading an
/// argument again.
#[derive(Clone)]
pub struct Made(Arc<dyn Make>);

/// Makes a scheduler.
pub(crate) trait Make: Send + Sync {
    /// Its typed parameters.
    fn params(&self) -> &dyn Any;

    /// The scheduler.
    fn scheduler(&self, form: Form) -> BoxedScheduler;

    /// The scheduler in parts.
    fn parts(&self, form: Form) -> Parts {
        Parts::Other(self.scheduler(form))
    }

    /// The variant that replaces the decider of that name, if the parameters select one.
    fn variant(&self) -> Option<Variant> {
        None
    }

    /// The typed parameters of that decider.
    fn own_params(&self) -> &dyn Any {
        self.params()
    }

    /// The size of its window of ranks, if it has one that can start with ranks.
    fn window(&self) -> Option<u32> {
        None
    }

    /// The same scheduler with a window that starts with these ranks, if it has such a window.
    fn starting_with(&self, ranks: &[Rank]) -> Option<Made> {
        let _ = ranks;
        None
    }
}

pub(crate) const ACCEPTED: &str = "these parameters were accepted";

impl Made {
    pub(crate) fn new(make: impl Make + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// The scheduler.
    pub fn scheduler(&self, form: Form) -> BoxedScheduler {
        self.0.scheduler(form)
    }

    /// The scheduler in parts, for ports that store less of each packet than its descriptor.
    pub fn parts(&self, form: Form) -> Parts {
        self.0.parts(form)
    }

    /// Its typed parameters, if they are a `P`.
    pub fn params<P: 'static>(&self) -> Option<&P> {
        self.0.params().downcast_ref()
    }

    /// The variant that replaces the decider of that name, and the capacities of its queues; `None` if the parameters
    /// select none.
    pub fn variant(&self) -> Option<(Box<dyn PlainDecider>, Vec<Capacity>)> {
        self.0.variant()
    }

    /// The typed parameters of the decider of that name, if they are a `P`.
    pub fn own_params<P: 'static>(&self) -> Option<&P> {
        self.0.own_params().downcast_ref()
    }

    /// The size of its window of ranks, if it has one that can start with ranks.
    pub fn window(&self) -> Option<u32> {
        self.0.window()
    }

    /// The same scheduler whose window starts with these ranks, oldest first.
    ///
    /// # Panics
    /// It has no such window, or a smaller one.
    #[must_use]
    pub fn starting_with(&self, ranks: &[Rank]) -> Self {
        assert!(self.window().is_some_and(|size| ranks.len() <= size as usize), "the ranks fit into the window");
        self.0.starting_with(ranks).expect("it has a window")
    }

    /// Its typed parameters, which must be a `P`.
    ///
    /// # Panics
    /// If they are no `P`.
    pub(crate) fn known<P: 'static>(&self) -> &P {
        self.params().expect("the row reads these parameters")
    }
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Made")
    }
}

/// A decider with its twin, joined to queues.
pub(crate) struct OfTwin<W: Twin>(pub(crate) <W::Of as FromParams>::Params);

impl<W: Twin> Make for OfTwin<W> {
    fn params(&self) -> &dyn Any {
        &self.0
    }

    fn scheduler(&self, form: Form) -> BoxedScheduler {
        fast::scheduler::<W>(self.0.clone(), form).expect(ACCEPTED)
    }

    fn parts(&self, form: Form) -> Parts {
        W::parts(self.0.clone(), form).expect(ACCEPTED)
    }
}

/// The parameters of a decider, and of variants that replace or wrap it.
pub(crate) trait Variants: Send + Sync + Sized + 'static {
    /// The twin of the decider.
    type Twin: Twin;

    /// The parameters of the decider.
    fn params(&self) -> &<<Self::Twin as Twin>::Of as FromParams>::Params;

    /// The variant that replaces the decider, if the parameters select one.
    fn variant(&self) -> Result<Option<Variant>, ParamError>;

    /// As [`Make::window`].
    fn window(&self) -> Option<u32> {
        None
    }

    /// As [`Make::starting_with`].
    fn starting_with(&self, ranks: &[Rank]) -> Option<Self> {
        let _ = ranks;
        None
    }

    /// The factory.
    fn made(self) -> Result<Made, ParamError> {
        if self.variant()?.is_none() {
            <Self::Twin as Twin>::Of::from_params(self.params().clone())?;
        }
        Ok(Made::new(OfVariants(self)))
    }
}

/// A decider of any type, and the capacities of its queues.
pub(crate) type Variant = (Box<dyn PlainDecider>, Vec<Capacity>);

struct OfVariants<V>(V);

impl<V: Variants> Make for OfVariants<V> {
    fn params(&self) -> &dyn Any {
        &self.0
    }

    fn scheduler(&self, form: Form) -> BoxedScheduler {
        match self.0.variant().expect(ACCEPTED) {
            Some((decider, capacities)) => decider.join(&capacities),
            None => fast::scheduler::<V::Twin>(self.0.params().clone(), form).expect(ACCEPTED),
        }
    }

    fn parts(&self, form: Form) -> Parts {
        match self.0.variant().expect(ACCEPTED) {
            Some((decider, capacities)) => Parts::Decider(decider, capacities),
            None => V::Twin::parts(self.0.params().clone(), form).expect(ACCEPTED),
        }
    }

    fn variant(&self) -> Option<Variant> {
        self.0.variant().expect(ACCEPTED)
    }

    fn own_params(&self) -> &dyn Any {
        self.0.params()
    }

    fn window(&self) -> Option<u32> {
        self.0.window()
    }

    fn starting_with(&self, ranks: &[Rank]) -> Option<Made> {
        self.0.starting_with(ranks).map(|variants| Made::new(Self(variants)))
    }
}

/// A scheduler that is no decider.
pub(crate) struct Whole<S: Construct>(S::Params, PhantomData<fn() -> S>);

impl<S: Construct> Whole<S> {
    pub(crate) const fn new(params: S::Params) -> Self {
        Self(params, PhantomData)
    }
}

impl<S: Construct + Scheduler + Send + 'static> Make for Whole<S> {
    fn params(&self) -> &dyn Any {
        &self.0
    }

    fn scheduler(&self, _form: Form) -> BoxedScheduler {
        Box::new(S::construct(self.0.clone()).expect(ACCEPTED))
    }
}

/// A scheduler that is no decider but can be taken apart.
pub(crate) struct Apart<S: Construct>(S::Params, PhantomData<fn() -> S>);

impl<S: Construct> Apart<S> {
    pub(crate) const fn new(params: S::Params) -> Self {
        Self(params, PhantomData)
    }
}

impl<S: Construct + Scheduler + Into<Parts> + Send + 'static> Make for Apart<S> {
    fn params(&self) -> &dyn Any {
        &self.0
    }

    fn scheduler(&self, _form: Form) -> BoxedScheduler {
        Box::new(S::construct(self.0.clone()).expect(ACCEPTED))
    }

    fn parts(&self, _form: Form) -> Parts {
        S::construct(self.0.clone()).expect(ACCEPTED).into()
    }
}
