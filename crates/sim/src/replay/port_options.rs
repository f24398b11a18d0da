//! Options for the behaviour of ports in published simulators.

pifolab_params::choices! {
    /// The wire time of a packet from a port's queue.
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
    /// The treatment of a packet that arrives at an idle port with an empty queue.
    #[derive(Default)]
    pub enum IdlePort {
        /// The scheduler, like every packet: it may refuse the packet and updates its state. The default.
        #[default]
        Scheduler = "scheduler": "its scheduler, like every packet",
        /// The wire, without a call of the scheduler (most ports of the Netbench forks).
        Bypass = "bypass": "the wire, without a call of the scheduler",
        /// The scheduler's admission: the packet updates its rank function, window and counters and may be refused. If
        /// admitted it goes to the wire at once, and since it never waited, `on_dequeue` of the rank function is not
        /// called (the AIFO ports of the AIFO paper's fork).
        Admission = "admission": "the scheduler's admission test, then the wire at once",
        /// The wire, with a rank from the rank function and without a call of the scheduler (STFQ over PACKS in PACKS's
        /// public code).
        Ranked = "ranked": "the wire, with a rank: the rank function is called, the scheduler is not",
    }
}
