//! The data that eBPF programs and user space share: `bpf/intf.h`, field by field. The further data of a scheduler are
//! in its file in `programs/`.

/// The largest number of queues of a program.
pub const MAX_QUEUES: usize = 32;
/// The largest number of ranks in a window.
pub const MAX_WINDOW: usize = 1024;
/// The value of an empty window slot, above every rank.
pub const EMPTY_SLOT: u64 = 1 << 63;
/// The upper half of `cb[0]` of a classified packet; the lower half is the queue.
pub const CLASSIFIED: u32 = 0x5046_0000;

/// Plain data that both sides read and write as bytes.
///
/// # Safety
/// The type must be `repr(C)`, without padding, and valid for every bit pattern.
pub unsafe trait Shared: Copy {
    /// A value with all bits zero.
    fn zeroed() -> Self {
        // SAFETY: every bit pattern is valid, by the trait's contract.
        unsafe { std::mem::zeroed() }
    }

    /// The value as bytes.
    fn bytes(&self) -> &[u8] {
        // SAFETY: the value has no padding, by the trait's contract, and lives as long as the slice.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }

    /// Reads a value from bytes; `None` if their number differs from the value's size.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        // SAFETY: the length is right, every bit pattern is valid, and an unaligned read needs no alignment.
        (bytes.len() == size_of::<Self>()).then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

/// Declares structs that C and Rust share: `Name { field: type, }`, each with its documentation.
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
    /// `pf_held`: the queues of a BPF qdisc.
    Held {
        /// Units in each queue.
        used: [u64; MAX_QUEUES],
    }

    /// `pf_qdisc_stats`: the counters of a BPF qdisc.
    QdiscStats {
        /// Packets admitted.
        admitted: u64,
        /// Packets refused on arrival.
        dropped: u64,
        /// Packets pushed out.
        evicted: u64,
        /// IP packets without a rank.
        unranked: u64,
        /// Frames of address resolution and neighbour discovery.
        neighbour: u64,
        /// Frames that are not IP.
        other: u64,
        /// Dropped frames that are not IP, for which their share had no room; part of `dropped`.
        share_dropped: u64,
        /// Frames that wait for their share: neighbour discovery, and others.
        share_held: [u64; 2],
    }
    /// `pf_config`: frozen when the program is loaded.
    Config {
        /// The inode number of the network namespace.
        netns: u64,
        /// The index of the interface.
        ifindex: u32,
        /// The number of queues in use.
        queues: u32,
        /// [`Occupancy`](super::settings::Occupancy) as a number.
        occupancy: u32,
        /// Whether capacities are in bytes.
        in_bytes: u32,
        /// The capacity of each queue.
        capacity: [u64; MAX_QUEUES],
        /// The capacity of all queues.
        total: u64,
        /// The source of ranks.
        rank_source: u32,
        /// The number of payload bytes before the rank.
        payload_offset: u32,
        /// The width of the rank in bytes.
        payload_width: u32,
        /// Whether every packet gets another rank (`cost` only).
        shuffle_ranks: u32,
        /// The rank of IP packets without a rank.
        rank_missing: u64,
        /// The rank of frames that are not IP, if they have no share.
        rank_not_ip: u64,
        /// The share of the link for frames that are not IP, in 65536ths; 0 if they have a rank.
        not_ip_share: u32,
        /// STFQ: whether the table has weights.
        weighted: u32,
        /// Bytes per nanosecond, with 20 fractional bits.
        rate: u64,
        /// The burst of HTB in bytes.
        burst: u64,
        /// LAS and STFQ: the silence after which a flow restarts; 0 for never.
        flow_timeout_ns: u64,
        /// The handle of the root qdisc that the program serves.
        root_handle: u32,
        /// Whether that qdisc is under `mq`: one for each transmit queue.
        per_queue: u32,
        /// The rank of each DSCP.
        dscp_ranks: [u16; 64],
    }

    /// `pf_flow`: the key of a flow.
    Flow {
        /// The source in packet order; IPv4 in the last word.
        source: [[u8; 4]; 4],
        /// The destination in packet order; IPv4 in the last word.
        destination: [[u8; 4]; 4],
        /// The ports, with the source port in the high half.
        ports: u32,
        /// The IP protocol.
        protocol: u16,
        /// The IP version, 4 or 6.
        version: u16,
    }

    /// `pf_prefix`: the key of a prefix.
    Prefix {
        /// The number of significant bits of `kind` and `address`.
        bits: u32,
        /// The side in the third byte, the IP version in the fourth.
        kind: [u8; 4],
        /// The address in packet order; IPv4 in the last word.
        address: [[u8; 4]; 4],
    }

    /// `pf_stats`: the counters of a filter.
    Stats {
        /// Packets admitted to each queue.
        admitted_packets: [u64; MAX_QUEUES],
        /// Bytes admitted to each queue.
        admitted_bytes: [u64; MAX_QUEUES],
        /// Packets that passed the test but whose queue was full.
        full: [u64; MAX_QUEUES],
        /// Packets whose rank failed the test.
        admission: u64,
        /// IP packets without a rank.
        unranked: u64,
        /// Frames of address resolution and neighbour discovery.
        neighbour: u64,
        /// Frames that are not IP.
        other: u64,
        /// The number of corrections of the counters from the qdisc's values.
        resyncs: u64,
    }

    /// `pf_clock`: occupancy computed from the link rate.
    Clock {
        /// The time of the last packet.
        last_ns: u64,
        /// The fraction of a byte, in units of 2^-20.
        fraction: u64,
        /// The bytes that may leave immediately.
        tokens: u64,
        /// The bytes in each queue.
        bytes: [u64; MAX_QUEUES],
        /// The mean frame size of each queue.
        mean: [u64; MAX_QUEUES],
        /// The waiting bytes of frames that are not IP, in their share of the link.
        paced_bytes: u64,
        /// The remainder of that share over time.
        paced_fraction: u64,
    }

    /// `pf_harness`: occupancy from user space.
    Harness {
        /// The units in each queue.
        used: [u64; MAX_QUEUES],
        /// The state of the rank generator of `cost`.
        random: u64,
    }
}
