/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The qdisc itself. A scheduler's file includes queues.h, defines `decide` and includes this last. */
#ifndef PIFOLAB_QUEUES_MAIN_H
#define PIFOLAB_QUEUES_MAIN_H

#include "queues.h"

SEC("struct_ops")
int BPF_PROG(queues_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	__u32 bytes = frame_bytes(skb), index;
	struct decision decision;
	__u64 rank = 0;
	enum pf_kind kind = rank_of(skb, &rank);

	if (kind != KIND_IP && config.not_ip_share)
		return enqueue_in_share(skb, sch, kind == KIND_NEIGHBOUR, to_free);
	decision = decide(rank, bytes);
	index = decision.queue & (MAX_QUEUES - 1);
	if (decision.verdict != ADMITTED) {
		bpf_qdisc_skb_drop(skb, to_free);
		return refused(sch);
	}
	if (!put_behind(index, skb, bytes, to_free))
		return refused(sch);
	held_units.used[index] += units(bytes);
	admitted(sch, bytes);
	return NET_XMIT_SUCCESS;
}

SEC("struct_ops")
struct sk_buff *BPF_PROG(queues_dequeue, struct Qdisc *sch)
{
	struct waiting *packet = NULL;
	struct sk_buff *skb;
	__u32 index;

	if (!sch->q.qlen || !link_is_free(sch))
		return NULL;
	skb = dequeue_from_share(sch);
	if (skb)
		return skb;
#pragma clang loop unroll(disable)
	for (index = 0; index < MAX_QUEUES; index++) {
		if (index >= config.queues)
			break;
		packet = take_oldest(index);
		if (packet)
			break;
	}
	if (!packet)
		return NULL;
	skb = bpf_kptr_xchg(&packet->skb, NULL);
	held_units.used[index & (MAX_QUEUES - 1)] -= units(packet->bytes);
	drop_object(packet);
	if (!skb)
		return NULL;
	send(sch, skb);
	return skb;
}

SEC("struct_ops")
void BPF_PROG(queues_reset, struct Qdisc *sch)
{
#pragma clang loop unroll(disable)
	for (__u32 queue = 0; queue < MAX_QUEUES; queue++) {
		__u32 index = queue;

		bpf_loop(MAX_HELD, free_oldest, &index, 0);
		held_units.used[queue] = 0;
	}
	reset_share();
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

QDISC(queues);

#endif
