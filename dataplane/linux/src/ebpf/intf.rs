//! What the eBPF programs and user space say to each other: `bpf/intf.h`, field by field.

/// Queues that a program can keep apart.
pub const MAX_QUEUES: usize = 32;
/// Ranks that a window can hold.
pub const MAX_WINDOW: usize = 1024;
/// What an empty window slot holds: more than any rank.
pub const EMPTY_SLOT: u64 = 1 << 63;
/// Values of a logarithm of a rank, however it is rounded.
pub const EXPONENTS: usize = 64;
/// In `cb[0]` of a classified packet, above the queue.
pub const CLASSIFIED: u32 = 0x5046_0000;

/// Plain data that both sides read and write as bytes.
///
/// # Safety
/// `repr(C)`, no padding, valid for every bit pattern.
pub unsafe trait Shared: Copy {
    /// All bits zero.
    fn zeroed() -> Self {
        // SAFETY: every bit pattern is valid, by the trait's contract.
        unsafe { std::mem::zeroed() }
    }

    /// As bytes.
    fn bytes(&self) -> &[u8] {
        // SAFETY: the value has no padding, by the trait's contract, and lives as long as the slice.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }

    /// From bytes; `None` if they are not as many as the value has.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        // SAFETY: the length is right, every bit pattern is valid, and an unaligned read asks for no alignment.
        (bytes.len() == size_of::<Self>()).then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

macro_rules! shared {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        // SAFETY: repr(C) integers and arrays of them; the assertion below excludes padding.
        unsafe impl Shared for $name {}
        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$type>())*, "padding");
    )*};
}

shared! {
    /// `pf_qdisc_stats`: what became of the packets of a BPF qdisc.
    QdiscStats {
        /// Let in.
        admitted: u64,
        /// Refused on arrival.
        dropped: u64,
        /// Pushed out.
        evicted: u64,
        /// IP packets that carry no rank.
        unranked: u64,
        /// Address resolution and neighbour discovery.
        neighbour: u64,
        /// Frames that are not IP.
        other: u64,
    }
    /// `pf_config`: frozen when the program is loaded.
    Config {
        /// Inode number of the network namespace.
        netns: u64,
        /// Index of the interface.
        ifindex: u32,
        /// Queues in use.
        queues: u32,
        /// [`Occupancy`](super::settings::Occupancy) as a number.
        occupancy: u32,
        /// Capacities are in bytes.
        in_bytes: u32,
        /// Of each queue.
        capacity: [u64; MAX_QUEUES],
        /// Of all queues.
        total: u64,
        /// Where ranks come from.
        rank_source: u32,
        /// Bytes of payload before the rank.
        payload_offset: u32,
        /// Bytes of the rank.
        payload_width: u32,
        /// Every packet gets another rank (cost only).
        shuffle_ranks: u32,
        /// Of IP packets that carry none.
        rank_missing: u64,
        /// Of frames that are not IP, if they have no share of their own.
        rank_not_ip: u64,
        /// Their share of the link, in 65536ths; 0 if they have a rank.
        not_ip_share: u32,
        /// STFQ: the table has weights.
        weighted: u32,
        /// Bytes per nanosecond, 20 fractional bits.
        rate: u64,
        /// Bytes that HTB lets ahead.
        burst: u64,
        /// AIFO: C.
        target: u64,
        /// AIFO: occupancy up to which every rank passes.
        headroom: u64,
        /// What one counted rank weighs in the quantile test.
        weight: u64,
        /// The denominator of k.
        scale: u64,
        /// Slots of the window.
        window: u32,
        /// One packet in this many enters the window.
        sample: u32,
        /// Equal ranks count.
        lower_or_equal: u32,
        /// The rank enters the window after its quantile is taken.
        update_after: u32,
        /// AIFO: `<` instead of `<=`.
        strict: u32,
        /// PACKS: only the whole occupancy is known.
        global_occupancy: u32,
        /// PACKS: a packet whose queue is full tries the next.
        fall_through: u32,
        /// No meaning.
        spare: u32,
        /// PACKS: added to every rank held.
        shift: i64,
        /// SP-PIFO: how bounds fall.
        push_down: u32,
        /// SP-PIFO: drops move bounds.
        update_on_full: u32,
        /// SP-PIFO: the least bound.
        floor: i64,
        /// SP-PIFO: MetaOpt's order.
        push_down_first: u32,
        /// RIFO: the test.
        mode: u32,
        /// RIFO: T.
        tracking_range: u64,
        /// RIFO: where the counter restarts.
        restart: u64,
        /// RIFO, alg1: floor(kB).
        guaranteed: u64,
        /// RIFO, eq3: (1-k)B times the denominator of k.
        sheltered: u64,
        /// RIFO, eq3: the denominator of k.
        denominator: u64,
        /// RIFO, pow2: the exponent of (1-k)B.
        sheltered_exponent: u32,
        /// RIFO, pow2: by how much capacities are shifted to fit in 16 bits.
        capacity_shift: u32,
        /// Exp-PIFO: the counter at which the window ends.
        window_end: u64,
        /// Exp-PIFO: the smallest rank that matters.
        r_min: u64,
        /// Exp-PIFO: its logarithm.
        r_min_exponent: u32,
        /// Exp-PIFO: exponents are rounded up.
        ceil: u32,
        /// Exp-PIFO: the mapping by bounds.
        by_bounds: u32,
        /// Handle of the root qdisc that the program serves.
        root_handle: u32,
    }

    /// `pf_flow`.
    Flow {
        /// As in the packet; IPv4 in the last word.
        source: [[u8; 4]; 4],
        /// The same.
        destination: [[u8; 4]; 4],
        /// Source port in the high half.
        ports: u32,
        /// Of IP.
        protocol: u16,
        /// 4 or 6.
        version: u16,
    }

    /// `pf_prefix`.
    Prefix {
        /// Of `kind` and `address` that count.
        bits: u32,
        /// The side in the third byte, the version of IP in the fourth.
        kind: [u8; 4],
        /// As in the packet; IPv4 in the last word.
        address: [[u8; 4]; 4],
    }

    /// `pf_stats`: what happened.
    Stats {
        /// Packets admitted to each queue.
        admitted_packets: [u64; MAX_QUEUES],
        /// Bytes admitted to each queue.
        admitted_bytes: [u64; MAX_QUEUES],
        /// Packets that passed the test but met this queue full.
        full: [u64; MAX_QUEUES],
        /// Packets whose rank the test refused.
        admission: u64,
        /// IP packets that carry no rank.
        unranked: u64,
        /// Address resolution and neighbour discovery.
        neighbour: u64,
        /// Frames that are not IP.
        other: u64,
        /// Times that the counters did not agree with the qdisc and were set right.
        resyncs: u64,
    }

    /// `pf_counters`: occupancy by counting.
    Counters {
        /// Units that entered each queue.
        entered: [u64; MAX_QUEUES],
        /// Units that left each queue.
        left: [u64; MAX_QUEUES],
        /// The qdisc's requeues when it was last looked at.
        requeues: u64,
        /// Packets given back by the device.
        outstanding: u64,
        /// STFQ's V.
        virtual_time: u64,
        /// Packets in all queues.
        held: u64,
    }

    /// `pf_clock`: occupancy by reckoning.
    Clock {
        /// Time of the last packet.
        last_ns: u64,
        /// Fraction of a byte, 2^-20 each.
        fraction: u64,
        /// Bytes that may leave at once.
        tokens: u64,
        /// Bytes in each queue.
        bytes: [u64; MAX_QUEUES],
        /// Mean frame size of each queue.
        mean: [u64; MAX_QUEUES],
        /// Bytes of frames that are not IP, in their share of the link.
        paced_bytes: u64,
        /// What is left of that share of a time.
        paced_fraction: u64,
    }

    /// `pf_harness`: occupancy as user space tells it.
    Harness {
        /// Units in each queue.
        used: [u64; MAX_QUEUES],
        /// State of the rank generator of `cost`.
        random: u64,
    }

    /// `pf_sp_pifo`.
    SpPifoState {
        /// q_1 to q_n.
        bounds: [i64; MAX_QUEUES],
    }

    /// `pf_window`.
    WindowState {
        /// The ranks, in a ring.
        ranks: [u64; MAX_WINDOW],
        /// The slot of the next rank.
        next: u32,
        /// Ranks held.
        held: u32,
        /// Packets until the next one that enters.
        unsampled: u32,
        /// No meaning.
        spare: u32,
        /// The highest rank seen.
        highest: u64,
    }

    /// `pf_rifo`.
    RifoState {
        /// Min.
        min: u64,
        /// Max.
        max: u64,
        /// Packets of the tracking range.
        counter: u64,
    }

    /// `pf_exp_pifo`.
    ExpPifoState {
        /// Packets of the window.
        counter: u64,
        /// The exponent.
        beta: u32,
        /// No meaning.
        spare: u32,
    }

    /// `pf_products`.
    Products {
        /// 2^(exponent of (1-k)B + exponent of r - Min).
        left: [u32; 256],
        /// 2^(exponent of Max - Min + exponent of B - l).
        right: [u32; 256],
    }

    /// `pf_exp_table`.
    ExpTable {
        /// The queue of each exponent (rows) and logarithm.
        queue: [u8; EXPONENTS * EXPONENTS],
        /// The largest rank of each queue, for each exponent (rows).
        bounds: [u64; EXPONENTS * MAX_QUEUES],
    }
}

impl WindowState {
    /// A window of `window` slots that holds the newest of `ranks`, oldest first; what else there is to know as in `old`.
    pub fn holding(ranks: &[u64], window: usize, old: &Self) -> Self {
        let newest = &ranks[ranks.len().saturating_sub(window)..];
        let mut state = Self { ranks: [EMPTY_SLOT; MAX_WINDOW], ..*old };
        state.ranks[..newest.len()].copy_from_slice(newest);
        state.held = newest.len() as u32;
        state.next = if newest.len() == window { 0 } else { newest.len() as u32 };
        state
    }

    /// The ranks of a window of `window` slots, oldest first.
    pub fn in_order(&self, window: usize) -> Vec<u64> {
        let (held, next) = (self.held as usize, self.next as usize);
        let start = if held < window { 0 } else { next };
        (0..held).map(|place| self.ranks[(start + place) % window]).collect()
    }
}
