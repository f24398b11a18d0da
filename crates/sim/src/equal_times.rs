//! What happens first among events of equal time: the rules of every engine, and of the event queue.
//!
//! One link and a network share the first rule, which is the default of both. The others go with one of them: a network has
//! more events than departures and arrivals at one port, and one link has no queue of events. So each has an enum, and a rule
//! that an engine does not know cannot be given to it.

pifolab_params::choices! {
    /// What happens first among events of equal time, in a network.
    #[derive(Default)]
    pub enum EqualTimes {
        /// A departure at a port goes before an arrival at the same port; everything else in the order in which it was
        /// scheduled. The default, and the fastest: departures need no event of their own.
        #[default]
        DeparturesFirst = "departures-first": "a departure at a port goes before an arrival at the same port",
        /// Strictly in the order in which events were scheduled; departures and every setting of a timer are events.
        Insertion = "insertion": "in the order in which events were scheduled",
        /// As the AIFO paper's fork of Netbench does, with the same events as `Insertion`: when the current batch is used up,
        /// all events of the earliest time form the next batch; of a batch with n events, the one at a fixed position that
        /// depends on n goes first. Events scheduled for the present wait until the batch is used up.
        NetbenchBatch = "netbench-batch": "the order of the AIFO paper's simulator and of those made from it",
    }
}

pifolab_params::choices! {
    /// What happens first among events of equal time, on one link: its key is `tie`, and its words are older than those of
    /// networks.
    #[derive(Default)]
    pub enum EqualTimesOnLink {
        /// As [`EqualTimes::DeparturesFirst`]: the next packet is taken from the buffer before an arrival is offered to it.
        /// The default.
        #[default]
        DeparturesFirst = "departure-first": "the next packet leaves the buffer before the arrival is offered",
        /// All arrivals of the instant are offered to the buffer before the next packet is taken from it.
        ArrivalsFirst = "arrival-first": "all arrivals of the instant are offered first",
    }
}
