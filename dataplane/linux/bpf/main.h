/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The filter itself. A scheduler's file defines `decide` and includes this last. */
#ifndef PIFOLAB_MAIN_H
#define PIFOLAB_MAIN_H

#include "occupancy.h"
#include "rank.h"

/* Marks the packet for the tracepoints and for the queue that takes it. */
static __always_inline int finish(struct __sk_buff *skb, struct decision decision, __u64 rank, __u32 bytes)
{
	skb->cb[0] = CLASSIFIED | decision.queue;
	skb->cb[1] = rank >> 32;
	skb->cb[2] = rank;
	skb->cb[3] = decision.verdict;
	skb->cb[4] = bytes;
	if (decision.verdict != ADMITTED)
		return TC_ACT_SHOT;
	skb->tc_classid = decision.queue + 1;
	return TC_ACT_OK;
}

SEC("tc")
int classify(struct __sk_buff *skb)
{
	struct headers headers = {};
	struct decision decision;
	__u32 bytes = skb->wire_len;
	__u64 rank = 0;

	look_at_queues(skb);
	if (!rank_of(skb, bytes, &headers, &rank)) {
		stats.unranked++;
		book(0, bytes);
		return finish(skb, admit(0), 0, bytes);
	}
	if (config.shuffle_ranks) {
		/* A linear congruential generator (Knuth's MMIX). */
		harness.random = harness.random * 6364136223846793005ULL + 1442695040888963407ULL;
		rank = harness.random >> 58;
	}
	decision = decide(rank, bytes);
	__u32 queue = decision.queue & (MAX_QUEUES - 1);

	switch (decision.verdict) {
	case ADMITTED:
		stats.admitted_packets[queue]++;
		stats.admitted_bytes[queue] += bytes;
		book(queue, bytes);
		charge(&headers, rank, bytes);
		break;
	case DROPPED_FULL:
		stats.full[queue]++;
		break;
	default:
		stats.admission++;
	}
	return finish(skb, decision, rank, bytes);
}

#endif
