//! The words of choices that have parameters, or that no other crate defines.

use pifolab_params::choices;

choices! {
    /// When a run on one link ends.
    pub(crate) enum End {
        Horizon = "horizon": "the run stops at the duration; packets may still wait",
        Drain = "drain": "the run goes on until the buffer is empty",
    }
}

choices! {
    /// The format of a list of flows.
    pub(crate) enum ListFormat {
        Csv = "csv": "flow,src,dst,size_bytes,start_ns; further columns are ignored",
        Hpcc = "hpcc": "the flow file of the HPCC simulator",
        Htsim = "htsim": "a connection matrix (.cm) of htsim; hosts are numbered as there",
    }
}

choices! {
    /// When flows start.
    pub(crate) enum FlowArrival {
        Poisson = "poisson": "independent exponential gaps",
        Pareto = "pareto": "independent Pareto gaps: bursts and silences",
        Periodic = "periodic": "one start each period, the first at the beginning",
        NetbenchSpPifo = "netbench-sp-pifo": "flow by flow what the SP-PIFO paper's simulator draws, the last at the end included",
        NetbenchAifo = "netbench-aifo": "flow by flow what the AIFO paper's simulator draws",
    }
}

choices! {
    /// The distribution of flow sizes.
    pub(crate) enum FlowSize {
        WebSearch = "web-search": "the DCTCP paper's web search",
        DataMining = "data-mining": "the VL2 paper's data mining",
        Hadoop = "hadoop": "Facebook's Hadoop cluster",
        Storage = "storage": "Alibaba's storage cluster",
        File = "file": "a cumulative distribution from a file",
        Fixed = "fixed": "all alike",
        Uniform = "uniform": "low_bytes to high_bytes, all alike",
        Pareto = "pareto": "Pareto with a mean and a cap",
    }
}

choices! {
    /// The pairs of senders and receivers.
    pub(crate) enum PairKind {
        Uniform = "uniform": "each ordered pair of different hosts alike",
        Permutation = "permutation": "each host has one partner, drawn once per run",
        Incast = "incast": "senders hosts start together to one receiver",
        AllToAll = "all-to-all": "a start brings one flow for every ordered pair",
        RackSkewed = "rack-skewed": "the share inside stays below the sender's leaf",
        ParetoSkewed = "pareto-skewed": "racks have Pareto-distributed shares, as in RIFO's public code",
        File = "file": "weights from a file",
    }
}

choices! {
    /// How a window treats the ranks of packets that move on to other ports.
    pub(crate) enum SampledRanks {
        Kept = "kept": "a window keeps the ranks that it sampled",
        Live = "live": "the entries of a window follow their packets, whose ranks later ports overwrite",
    }
}

choices! {
    /// The queue of a host.
    pub(crate) enum HostQueueKind {
        Unlimited = "unlimited": "unlimited; by rank if the switches have schedulers, first in first out otherwise",
        AsSwitch = "as-switch": "the scheduler and capacity of the switches' ports",
        Own = "own": "a scheduler of its own",
    }
}

choices! {
    /// How packets choose among paths.
    pub(crate) enum RoutingKind {
        FlowHash = "flow-hash": "a flow keeps one path, and its acknowledgements keep another",
        NetbenchHash = "netbench-hash": "the same with the hash of the published simulators",
        NetbenchHashHostsLast = "netbench-hash-hosts-last": "the same where these number hosts after switches",
        Spray = "spray": "every packet by itself",
    }
}

choices! {
    /// When packets arrive.
    pub(crate) enum ArrivalKind {
        Constant = "constant": "constant bit rate, back to back",
        Jittered = "jittered": "constant bit rate whose gaps vary by up to jitter",
        Poisson = "poisson": "independent exponential gaps",
        OnOff = "on-off": "constant bit rate during on periods",
        Batches = "batches": "batch_packets at once, every period",
    }
}

choices! {
    /// The assignment of packets to flows.
    pub(crate) enum FlowOrder {
        RoundRobin = "round-robin": "in turn",
        Random = "random": "drawn uniformly for each packet",
    }
}

choices! {
    /// The position of the ranks of a trace.
    pub(crate) enum TraceRankKind {
        Dscp = "dscp": "the DSCP field of the IP header",
        Payload = "payload": "an integer in the payload",
        Column = "column": "the column rank of a CSV file",
    }
}

choices! {
    /// The kind of a distribution.
    pub(crate) enum DistributionKind {
        Uniform = "uniform": "low to high, all alike",
        Exponential = "exponential": "floor of an exponential variate, redrawn above bound",
        InverseExponential = "inverse-exponential": "bound + 1 minus an exponential one",
        Poisson = "poisson": "Poisson",
        Convex = "convex": "Poisson modulo modulus: mass near both ends",
        Minmax = "minmax": "|Poisson - offset| modulo modulus",
        Constant = "constant": "always the same",
        Histogram = "histogram": "weights from a file, or values and weights given here",
    }
}
