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
	__type(value, __u64);
} flows SEC(".maps");

static __always_inline enum pf_kind read_headers(struct __sk_buff *skb, struct headers *headers)
{
	__u32 tags = skb->vlan_present ? 1 : 0;

	return parse(skb, skb->len, tags, skb->vlan_tci, headers);
}

/* Finds the rank of an IP packet; false if it carries none. */
static __always_inline bool rank_of(struct __sk_buff *skb, __u32 bytes, const struct headers *headers, __u64 *rank)
{
	__u64 *seen;

	if (config.rank_source == RANK_LAS) {
		seen = bpf_map_lookup_elem(&flows, &headers->flow);
		*rank = seen ? *seen : 0;
		if (seen) {
			*seen += bytes;
		} else {
			__u64 first = bytes;

			bpf_map_update_elem(&flows, &headers->flow, &first, BPF_ANY);
		}
		return true;
	}
	if (config.rank_source == RANK_STFQ) {
		seen = bpf_map_lookup_elem(&flows, &headers->flow);
		*rank = counters.virtual_time;
		if (seen && *seen > *rank)
			*rank = *seen;
		return true;
	}
	return carried_rank(skb, headers, skb->mark, rank);
}

/* STFQ charges a flow for what was admitted only: a dropped packet costs it nothing. */
static __always_inline void charge(const struct headers *headers, __u64 rank, __u32 bytes)
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
	__u64 finish = rank + increment;

	bpf_map_update_elem(&flows, &headers->flow, &finish, BPF_ANY);
}

#endif
