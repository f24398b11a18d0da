/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The filter itself. A scheduler's file defines `decide` and includes this last. */
#ifndef PIFOLAB_MAIN_H
#define PIFOLAB_MAIN_H

#include "occupancy.h"
#include "rank.h"

/* Writes a field of the context. In C, newer compilers merge stores to different fields on different paths into one
 * through a computed address, which the verifier refuses. */
#define SET(skb, field, value)                                                                                 \
	asm volatile("*(u32 *)(%0 + %1) = %2"                                                                  \
		     :                                                                                         \
		     : "r"(skb), "i"(__builtin_offsetof(struct __sk_buff, field)), "r"((__u64)(__u32)(value)) \
		     : "memory")

/* Marks the packet for the tracepoints and for the queue that takes it. */
static __always_inline void mark(struct __sk_buff *skb, struct decision decision, __u64 rank, __u32 bytes)
{
	SET(skb, cb[0], CLASSIFIED | decision.queue);
	SET(skb, cb[1], rank >> 32);
	SET(skb, cb[2], rank);
	SET(skb, cb[3], decision.verdict);
	SET(skb, cb[4], bytes);
}

SEC("tc")
int classify(struct __sk_buff *skb)
{
	struct headers headers = {};
	struct arrival arrival = {};
	struct decision decision;
	__u32 bytes = skb->wire_len;
	__u64 rank = 0;
	enum pf_kind kind = read_headers(skb, &headers);

	if (kind == KIND_NEIGHBOUR)
		stats.neighbour++;
	else if (kind == KIND_OTHER)
		stats.other++;
	if (kind != KIND_IP && config.not_ip_share) {
		bool neighbour = kind == KIND_NEIGHBOUR;

		book_paced(bytes);
		mark(skb, admit(neighbour ? QUEUE_NEIGHBOUR : QUEUE_OTHER), 0, bytes);
		SET(skb, tc_classid, neighbour ? CLASS_NEIGHBOUR : CLASS_OTHER);
		return TC_ACT_OK;
	}
	look_at_queues(skb);
	if (kind != KIND_IP) {
		rank = config.rank_not_ip;
	} else if (!rank_of(skb, bytes, &headers, &rank, &arrival)) {
		stats.unranked++;
		rank = config.rank_missing;
	}
	if (config.shuffle_ranks) {
		/* A linear congruential generator (Knuth's MMIX). */
		harness.random = harness.random * 6364136223846793005ULL + 1442695040888963407ULL;
		rank = harness.random >> 58;
	}
	decision = decide(rank, bytes);
	__u32 queue = decision.queue & (MAX_QUEUES - 1);

	/* The default rank of a frame that is not IP must not move STFQ's virtual time. */
	mark(skb, decision, kind == KIND_IP ? rank : 0, bytes);
	switch (decision.verdict) {
	case ADMITTED:
		stats.admitted_packets[queue]++;
		stats.admitted_bytes[queue] += bytes;
		book(queue, bytes);
		if (kind == KIND_IP)
			charge(&headers, &arrival, rank, bytes);
		SET(skb, tc_classid, queue + 1);
		return TC_ACT_OK;
	case DROPPED_FULL:
		stats.full[queue]++;
		return TC_ACT_SHOT;
	default:
		stats.admission++;
		return TC_ACT_SHOT;
	}
}

#endif
