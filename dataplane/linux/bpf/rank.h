/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The rank of a packet: carried (frame.h), or computed per flow (LAS, STFQ). */
#ifndef PIFOLAB_RANK_H
#define PIFOLAB_RANK_H

#include "common.h"

#define PACKET struct __sk_buff
#define load_bytes(packet, offset, to, length) bpf_skb_load_bytes(packet, offset, to, length)

#include "frame.h"

/* Rank units per byte: as the library's STFQ. */
#define STFQ_SCALE 1024

/* Bytes seen (LAS) or finish tag (STFQ) of each flow; the flows that were silent longest give way to new ones. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FLOWS);
	__type(key, struct pf_flow);
	__type(value, struct pf_seen);
} flows SEC(".maps");

static __always_inline void remember(const struct pf_flow *flow, __u64 value, __u64 now)
{
	struct pf_seen seen = {.value = value, .last_ns = now};

	bpf_map_update_elem(&flows, flow, &seen, BPF_ANY);
}

/* What is remembered of a flow; 0 if nothing, or if it was silent for too long. */
static __always_inline struct pf_seen *recall(const struct pf_flow *flow, __u64 now)
{
	struct pf_seen *seen = bpf_map_lookup_elem(&flows, flow);

	if (seen && config.flow_timeout_ns && now - seen->last_ns > config.flow_timeout_ns)
		return 0;
	return seen;
}

/* The state of the packet's flow and the time, from its rank to its charge. */
struct arrival {
	struct pf_seen *seen;
	__u64 now;
};

static __always_inline enum pf_kind read_headers(struct __sk_buff *skb, struct headers *headers)
{
	__u32 tags = skb->vlan_present ? 1 : 0;

	return parse(skb, skb->len, tags, skb->vlan_tci, headers);
}

/* Finds the rank of an IP packet; false if it carries none. */
static __always_inline bool rank_of(struct __sk_buff *skb, __u32 bytes, const struct headers *headers, __u64 *rank,
				    struct arrival *arrival)
{
	struct pf_seen *seen;

	if (config.rank_source == RANK_LAS) {
		__u64 now = bpf_ktime_get_ns();

		seen = recall(&headers->flow, now);
		*rank = seen ? seen->value : 0;
		if (seen) {
			seen->value += bytes;
			seen->last_ns = now;
		} else {
			remember(&headers->flow, bytes, now);
		}
		return true;
	}
	if (config.rank_source == RANK_STFQ) {
		arrival->now = bpf_ktime_get_ns();
		arrival->seen = seen = recall(&headers->flow, arrival->now);
		*rank = counters.virtual_time;
		if (seen && seen->value > *rank)
			*rank = seen->value;
		return true;
	}
	return carried_rank(skb, headers, skb->mark, rank);
}

/* STFQ charges a flow for what was admitted only: a dropped packet costs it nothing. */
static __always_inline void charge(const struct headers *headers, const struct arrival *arrival, __u64 rank, __u32 bytes)
{
	if (config.rank_source != RANK_STFQ)
		return;
	__u64 increment = (__u64)bytes * STFQ_SCALE;

	if (config.weighted) {
		__u64 *weight = look_up(&headers->flow);

		/* User space lets no weight of 0 in. */
		if (weight && *weight)
			increment /= *weight;
		if (!increment)
			increment = 1;
	}
	/* In place: an update of the map takes a new element from the processor's list and gives the old one back. */
	if (arrival->seen) {
		arrival->seen->value = rank + increment;
		arrival->seen->last_ns = arrival->now;
	} else {
		remember(&headers->flow, rank + increment, arrival->now);
	}
}

#endif
