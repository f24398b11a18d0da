//! The order of events of equal time, in every engine and in the event queue.
//!
//! One link and a network share the first rule, the default of both. The other rules apply to one engine only: a
//! network has more kinds of events than one port, and one link has no event queue. So each engine has its own enum,
//! which excludes rules of the other.

pifolab_params::choices! {
    /// The order of events of equal time in a network.
    #[derive(Default)]
    pub enum EqualTimes {
        /// A departure at a port comes before an arrival at the same port; other events happen in the order in which
        /// they were scheduled. The default, and the fastest, since departures need no events.
        #[default]
        DeparturesFirst = "departures-first": "a departure at a port goes before an arrival at the same port",
        /// As `DeparturesFirst`, and other events happen in the order of their places: arrivals by the number of their link,
        /// then timers of ports, starts of flows and timers of flows by their numbers. This order is a property of the
        /// network alone, so a run may be divided among threads.
        ByPlace = "by-place": "as departures-first, then by the numbers of links and flows: a run may use several processors",
        /// Strictly the order in which events were scheduled; every departure and every setting of a timer is an event.
        Insertion = "insertion": "in the order in which events were scheduled",
        /// The order of the AIFO paper's fork of Netbench, with the same events as `Insertion`. When a batch is empty,
        /// all events of the earliest time form the next batch. Of a batch of n events, the event at a fixed position
        /// that depends on n is next. Events scheduled for the present wait until the batch is empty.
        NetbenchBatch = "netbench-batch": "the order of the AIFO paper's simulator and of those made from it",
    }
}

pifolab_params::choices! {
    /// The order of events of equal time on one link. Its key `tie` and its words are older than those of networks.
    #[derive(Default)]
    pub enum EqualTimesOnLink {
        /// As [`EqualTimes::DeparturesFirst`]: the next packet leaves the buffer before an arrival is offered to it.
        /// The default.
        #[default]
        DeparturesFirst = "departure-first": "the next packet leaves the buffer before the arrival is offered",
        /// All arrivals of the instant are offered to the buffer before the next packet leaves it.
        ArrivalsFirst = "arrival-first": "all arrivals of the instant are offered first",
    }
}
