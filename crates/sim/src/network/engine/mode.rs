//! The mode of a run as a type, so that code for absent features is compiled away.

/// The mode of a run. The engine chooses one for each run; all code on the path of packets is compiled for each mode.
pub(in crate::network) trait Mode: 'static {
    /// Whether every departure and every setting of a timer is an event. Otherwise a port decides lazily, when it is
    /// accessed, and a timer has one event.
    const STEPWISE: bool;
    /// Whether the run has no observer, no failing link, no shared memory and no drawn ranks. Otherwise it may have
    /// each of them, and the observer is always called.
    const PLAIN: bool;
    /// Whether events of equal time happen in the order of their places.
    const BY_PLACE: bool = false;
}

/// The mode of most runs.
pub(in crate::network) enum Plain {}

/// With all optional features.
pub(in crate::network) enum Full {}

/// [`Plain`] with [`Mode::STEPWISE`].
pub(in crate::network) enum PlainSteps {}

/// [`Full`] with [`Mode::STEPWISE`].
pub(in crate::network) enum FullSteps {}

/// [`Plain`] with [`Mode::BY_PLACE`].
pub(in crate::network) enum PlainByPlace {}

/// [`Full`] with [`Mode::BY_PLACE`].
pub(in crate::network) enum FullByPlace {}

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

impl Mode for PlainByPlace {
    const STEPWISE: bool = false;
    const PLAIN: bool = true;
    const BY_PLACE: bool = true;
}

impl Mode for FullByPlace {
    const STEPWISE: bool = false;
    const PLAIN: bool = false;
    const BY_PLACE: bool = true;
}
