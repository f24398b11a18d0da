// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* SP-PIFO as a qdisc: the same decision as the filter's, over strict-priority queues of its own. */
#include "qdisc.h"

static __u64 used[MAX_QUEUES]; /* units in each queue */

static __always_inline bool fits(__u32 queue, __u32 bytes)
{
	return used[queue & (MAX_QUEUES - 1)] + units(bytes) <= config.capacity[queue & (MAX_QUEUES - 1)];
}

#include "../sp_pifo.h"

struct packet {
	__u32 bytes;
	struct sk_buff KPTR *skb;
	struct bpf_list_node node;
};

struct queue {
	struct bpf_spin_lock lock;
	struct bpf_list_head packets CONTAINS(packet, node);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_QUEUES);
	__type(key, __u32);
	__type(value, struct queue);
} queues SEC(".maps");

static __always_inline struct packet *take_first(__u32 index)
{
	struct queue *queue = bpf_map_lookup_elem(&queues, &index);
	struct bpf_list_node *node;

	if (!queue)
		return NULL;
	bpf_spin_lock(&queue->lock);
	node = bpf_list_pop_front(&queue->packets);
	bpf_spin_unlock(&queue->lock);
	return node ? container_of(node, struct packet, node) : NULL;
}

SEC("struct_ops")
int BPF_PROG(sp_pifo_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	__u32 bytes = frame_bytes(skb), index;
	struct decision decision = decide(rank_of(skb), bytes);
	struct sk_buff *none;
	struct packet *packet;
	struct queue *queue;

	index = decision.queue & (MAX_QUEUES - 1);
	queue = bpf_map_lookup_elem(&queues, &index);
	if (!queue || decision.verdict != ADMITTED)
		goto drop;
	packet = new_object(struct packet);
	if (!packet)
		goto drop;
	packet->bytes = bytes;
	none = bpf_kptr_xchg(&packet->skb, skb);
	if (none) /* there is none in a new object */
		bpf_qdisc_skb_drop(none, to_free);
	bpf_spin_lock(&queue->lock);
	bpf_list_push_back_impl(&queue->packets, &packet->node, NULL, 0);
	bpf_spin_unlock(&queue->lock);
	used[index] += units(bytes);
	admitted(sch, bytes);
	return NET_XMIT_SUCCESS;
drop:
	sch->qstats.drops++;
	stats.dropped++;
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

SEC("struct_ops")
struct sk_buff *BPF_PROG(sp_pifo_dequeue, struct Qdisc *sch)
{
	struct packet *packet = NULL;
	struct sk_buff *skb;
	__u32 index;

	if (!sch->q.qlen || !link_is_free(sch))
		return NULL;
#pragma clang loop unroll(disable)
	for (index = 0; index < MAX_QUEUES; index++) {
		if (index >= config.queues)
			break;
		packet = take_first(index);
		if (packet)
			break;
	}
	if (!packet)
		return NULL;
	skb = bpf_kptr_xchg(&packet->skb, NULL);
	used[index & (MAX_QUEUES - 1)] -= units(packet->bytes);
	drop_object(packet);
	if (!skb)
		return NULL;
	send(sch, skb);
	return skb;
}

SEC("struct_ops")
int BPF_PROG(sp_pifo_init, struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *answer)
{
	return 0;
}

/* One step of emptying a queue; the helper that repeats it spares the verifier from following every step. */
static int free_first(__u32 step, void *index)
{
	struct packet *packet = take_first(*(__u32 *)index);
	struct sk_buff *skb;

	if (!packet)
		return 1;
	skb = bpf_kptr_xchg(&packet->skb, NULL);
	if (skb)
		bpf_kfree_skb(skb);
	drop_object(packet);
	return 0;
}

SEC("struct_ops")
void BPF_PROG(sp_pifo_reset, struct Qdisc *sch)
{
#pragma clang loop unroll(disable)
	for (__u32 queue = 0; queue < MAX_QUEUES; queue++) {
		__u32 index = queue;

		bpf_loop(MAX_HELD, free_first, &index, 0);
		used[queue] = 0;
	}
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

SEC("struct_ops")
void BPF_PROG(sp_pifo_destroy, struct Qdisc *sch)
{
}

SEC(".struct_ops")
struct Qdisc_ops sp_pifo = {
	.enqueue = (void *)sp_pifo_enqueue,
	.dequeue = (void *)sp_pifo_dequeue,
	.init = (void *)sp_pifo_init,
	.reset = (void *)sp_pifo_reset,
	.destroy = (void *)sp_pifo_destroy,
	.id = "pifolab_sp_pifo",
};
