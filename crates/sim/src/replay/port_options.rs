//! What published simulators do at a port that ours does not.

pifolab_params::choices! {
    /// How long a packet that comes from a port's queue occupies the wire.
    #[derive(Default)]
    pub enum WireTime {
        /// Its own serialisation time. The default.
        #[default]
        Own = "own": "its own",
        /// The serialisation time of the packet that the port sent before it, as in the fork of Netbench behind PACKS. A
        /// packet that finds the port idle takes its own. For repeating published runs only.
        OfPacketBefore = "of-packet-before":
            "that of the packet which its port sent before it, as in PACKS's public code",
    }
}

pifolab_params::choices! {
    /// What a packet meets that arrives at an idle port with an empty queue.
    #[derive(Default)]
    pub enum IdlePort {
        /// The scheduler, like every packet: it may refuse it, and its state sees it. The default.
        #[default]
        Scheduler = "scheduler": "its scheduler, like every packet",
        /// The wire: the scheduler never hears of it (most ports of the Netbench forks).
        Bypass = "bypass": "the wire: the scheduler never hears of it",
        /// The scheduler's admission: its rank function, window and counters see the packet and it may be refused; if it is
        /// admitted it goes to the wire at once, and the rank function is not told of a departure, since it never waited
        /// (the AIFO ports of the AIFO paper's fork).
        Admission = "admission": "the scheduler's admission test, then the wire at once",
        /// The wire, but the rank function gives it a rank: the scheduler never hears of it (STFQ over PACKS in PACKS's public
        /// code).
        Ranked = "ranked": "the wire, with a rank: the rank function sees it, the scheduler does not",
    }
}
