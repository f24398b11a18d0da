/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The interface between eBPF programs and user space. src/ebpf/intf.rs mirrors every struct, field by field. The
 * parameters and registers of a single scheduler are in its own folder, and src/ebpf/programs/ mirrors them. */
#ifndef PIFOLAB_INTF_H
#define PIFOLAB_INTF_H

#include <linux/types.h>

/* HTB has eight priorities; the test harness may use more queues. */
#define MAX_QUEUES 32
/* Window slots; a multiple of WINDOW_STEP, the slots that one step of the count reads. */
#define MAX_WINDOW 1024
#define WINDOW_STEP 8
/* The content of an empty slot: above every rank, since ranks are below 2^63. */
#define EMPTY_SLOT (1ULL << 63)

/* The source of a packet's rank. */
enum pf_rank_source {
	RANK_DSCP,
	RANK_PAYLOAD,
	RANK_VLAN,
	RANK_MPLS,
	RANK_MARK,
	/* The sources from here on read the flow. */
	RANK_TABLE,
	RANK_LAS,
	RANK_STFQ,
};

/* The largest rank. */
#define MAX_RANK (EMPTY_SLOT - 1)

/* How the program gets the occupancy of the queues. */
enum pf_occupancy {
	OCCUPANCY_COUNTERS, /* counted by the qdisc tracepoints, set right when the qdisc disagrees */
	OCCUPANCY_WALK,     /* read from the kernel's leaf qdiscs: exact */
	OCCUPANCY_CLOCK,    /* reckoned from the link rate: within a few packets */
	OCCUPANCY_HARNESS,  /* told by user space: conformance and cost */
};

/* The outcome of a packet: the library's DropReason, with 0 for none. */
enum pf_verdict { ADMITTED, DROPPED_ADMISSION, DROPPED_FULL };

/* cb[0] of a classified packet: the queue in the low bits, this mark above. */
#define CLASSIFIED 0x50460000U
/* Pseudo-queues of frames with a separate share of the link: address resolution and neighbour discovery, and everything
 * else that is not IP. */
#define QUEUE_NEIGHBOUR MAX_QUEUES
#define QUEUE_OTHER (MAX_QUEUES + 1)
/* The minor numbers of their classes. */
#define CLASS_NEIGHBOUR 0xffe1
#define CLASS_OTHER 0xffe2

/* Frozen before the program is loaded, so that the verifier removes code that the configuration does not use. */
struct pf_config {
	/* The qdisc whose events the tracepoints handle. */
	__u64 netns;
	__u32 ifindex;

	__u32 queues;
	__u32 occupancy;
	__u32 in_bytes; /* capacities and occupancies are in bytes, otherwise in packets */
	__u64 capacity[MAX_QUEUES];
	__u64 total; /* of all queues */

	__u32 rank_source;
	__u32 payload_offset;
	__u32 payload_width;
	__u32 shuffle_ranks; /* cost only: every packet gets another rank below 64 */
	__u64 rank_missing;  /* of IP packets that carry none */
	__u64 rank_not_ip;   /* of frames that are not IP, if they have no share of their own */
	__u32 not_ip_share;  /* they have one, in 65536ths of the link */
	__u32 weighted;      /* STFQ: the table has weights */

	/* The virtual clock: bytes per nanosecond with 20 fractional bits, and the burst of HTB. */
	__u64 rate;
	__u64 burst;

	__u64 flow_timeout_ns; /* LAS and STFQ: a flow that was silent for longer begins anew; 0: none does */

	__u32 root_handle; /* of the qdisc that the program serves: 16 bits of major number above zeros */
	__u32 per_queue;   /* it is under `mq`, one for each transmit queue */

	__u16 dscp_ranks[64]; /* RANK_DSCP: of each DSCP, itself unless --rank maps them */
};

/* SCHEDULER_PARAMETER_WORD: numbers of the library's choices. The build writes it from the library. */
#include "choices.h"

/* BPF qdisc: the capacity in packets, and the most packets that one arrival may push out (with a capacity in bytes). */
#define MAX_HELD 1024
#define MAX_VICTIMS 32

/* BPF qdisc: the outcomes of packets. */
struct pf_qdisc_stats {
	__u64 admitted;
	__u64 dropped; /* on arrival */
	__u64 evicted;
	__u64 unranked; /* IP packets that carry no rank */
	__u64 neighbour;
	__u64 other;         /* not IP */
	__u64 share_dropped; /* of the dropped: frames that are not IP, for which their share had no room */
	__u64 share_held[2]; /* frames that wait for their share: neighbour discovery, and all else */
};

/* BPF qdisc with queues: units (packets or bytes) in each queue. */
struct pf_held {
	__u64 used[MAX_QUEUES];
};

/* Counters per queue: written by the classifier under the qdisc's lock, read by user space. */
struct pf_stats {
	__u64 admitted_packets[MAX_QUEUES];
	__u64 admitted_bytes[MAX_QUEUES];
	__u64 full[MAX_QUEUES]; /* the test passed, but this queue had no room */
	__u64 admission;        /* the test refused the rank */
	__u64 unranked;         /* IP packets that carry no rank */
	__u64 neighbour;        /* address resolution and neighbour discovery */
	__u64 other;            /* not IP */
	__u64 resyncs;          /* times that the counters did not agree with the qdisc and were set right */
};

/* Occupancy by counting: units (packets or bytes) that entered and left each queue. */
struct pf_counters {
	__u64 entered[MAX_QUEUES];
	__u64 left[MAX_QUEUES];
	__u64 requeues;    /* of the qdisc, when it was last looked at */
	__u64 outstanding; /* packets that the device gave back and that will be dequeued again */
	__u64 virtual_time;
	__u64 held; /* packets in all queues, to be compared with the qdisc's own count */
};

/* Occupancy by calculation. */
struct pf_clock {
	__u64 last_ns;
	__u64 fraction;
	__u64 tokens;
	__u64 bytes[MAX_QUEUES];
	__u64 mean[MAX_QUEUES]; /* frame size */
	/* Frames that are not IP, in their share of the link: waiting bytes, and the unused rest of the share of a period. */
	__u64 paced_bytes;
	__u64 paced_fraction;
};

/* Occupancy by reading the kernel: the places of the queues in its table of classes. */
struct pf_leaves {
	__u64 root;
	__u64 table;
	__u64 bucket[MAX_QUEUES]; /* the address of the head of the chain that the class begins */
	__u64 class[MAX_QUEUES];  /* its node in that chain, if it is there */
};

/* Occupancy written by user space. */
struct pf_harness {
	__u64 used[MAX_QUEUES];
	__u64 random;
};

/* A flow. Addresses are as in the packet; IPv4 addresses are in the last word, behind zeros. */
struct pf_flow {
	__u32 source[4];
	__u32 destination[4];
	__u32 ports; /* source in the high half; host byte order */
	__u16 protocol;
	__u16 version; /* 4 or 6 */
};

#define MAX_FLOWS 65536

/* The state of a flow. */
struct pf_seen {
	__u64 value; /* LAS: its bytes; STFQ: its finish tag */
	__u64 last_ns;
};

/* The key of a prefix: the side and the version of IP come before the address, so that one trie holds all prefixes. */
struct pf_prefix {
	__u32 bits; /* of what follows */
	__u32 kind; /* side << 8 | version; network byte order */
	__u32 address[4];
};

enum pf_side { PREFIX_DESTINATION, PREFIX_SOURCE };

#endif
