//! What every eBPF program and user space say to each other: `bpf/intf.h`, field by field. What one scheduler has beyond that
//! stands in its own file in `programs/`.

/// Queues that a program can keep apart.
pub const MAX_QUEUES: usize = 32;
/// Ranks that a window can hold.
pub const MAX_WINDOW: usize = 1024;
/// What an empty window slot holds: more than any rank.
pub const EMPTY_SLOT: u64 = 1 << 63;
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

/// Structs that C and Rust share: `Name { field: type, }`, each with its documentation.
macro_rules! shared {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        // SAFETY: repr(C) integers and arrays of them; the assertion below excludes padding.
        unsafe impl $crate::ebpf::intf::Shared for $name {}
        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$type>())*, "padding");
    )*};
}

pub(super) use shared;

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
        /// Of those dropped: frames that are not IP, for which their share had no room.
        share_dropped: u64,
        /// Frames that wait for their share: neighbour discovery, and all else.
        share_held: [u64; 2],
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
        /// LAS and STFQ: a flow that was silent for longer begins anew; 0: none does.
        flow_timeout_ns: u64,
        /// Handle of the root qdisc that the program serves.
        root_handle: u32,
        /// No meaning.
        spare: u32,
        /// The rank of each DSCP.
        dscp_ranks: [u16; 64],
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
}
