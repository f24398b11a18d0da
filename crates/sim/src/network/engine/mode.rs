//! How a network runs, as a type: what a run does not have, its code does not ask for.

/// How a network runs. The engine chooses one for each run; everything that packets come by is compiled for each.
pub(in crate::network) trait Mode: 'static {
    /// Departures are events, and so is every setting of a timer. Otherwise a port decides what it sends when somebody looks, and a
    /// timer has one event.
    const STEPWISE: bool;
    /// Nothing is there besides packets: no observer, no link that fails, no shared memory, no rank drawn. Otherwise each may
    /// be there, and an observer is told of whatever happens.
    const PLAIN: bool;
}

/// The mode of most runs.
pub(in crate::network) enum Plain {}

/// With whatever a run may have besides its packets.
pub(in crate::network) enum Full {}

/// [`Plain`], step by step.
pub(in crate::network) enum PlainSteps {}

/// [`Full`], step by step.
pub(in crate::network) enum FullSteps {}

impl Mode for Plain {
    const STEPWISE: bool = false;
    const PLAIN: bool = true;
}

impl Mode for Full {
    const STEPWISE: bool = false;
    const PLAIN: bool = false;
}

impl Mode for PlainSteps {
    const STEPWISE: bool = true;
    const PLAIN: bool = true;
}

impl Mode for FullSteps {
    const STEPWISE: bool = true;
    const PLAIN: bool = false;
}
