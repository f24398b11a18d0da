// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The ideal PIFO (Sivaraman et al., SIGCOMM 2016) as a qdisc: a search tree by rank, first come first served among
 * equals. A full buffer pushes out the packet that would leave last, which may be the arriving one. */
#include "../qdisc.h"

/* The largest depth of a tree of 2^32 packets: the longest path of a red-black tree is at most twice its shortest. */
#define DEEPEST 64

struct packet {
	__u64 rank;
	__u64 number;
	__u32 bytes;
	struct sk_buff KPTR *skb;
	struct bpf_rb_node node;
};

LOCKED(tree) struct bpf_spin_lock lock;
LOCKED(tree) struct bpf_rb_root tree CONTAINS(packet, node);

static __u64 arrivals;
static __u64 used; /* units in the buffer */

static bool leaves_before(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	struct packet *one = container_of(a, struct packet, node);
	struct packet *other = container_of(b, struct packet, node);

	return one->rank < other->rank || (one->rank == other->rank && one->number < other->number);
}

/* Removes the packet that would leave last from the tree, if its rank is above `rank`. */
static __always_inline struct packet *take_last_above(__u64 rank)
{
	struct bpf_rb_node *node, *right;

	bpf_spin_lock(&lock);
	node = bpf_rbtree_root(&tree);
	for (__u32 depth = 0; node && depth < DEEPEST; depth++) {
		right = bpf_rbtree_right(&tree, node);
		if (!right)
			break;
		node = right;
	}
	if (!node || container_of(node, struct packet, node)->rank <= rank) {
		bpf_spin_unlock(&lock);
		return NULL;
	}
	node = bpf_rbtree_remove(&tree, node);
	bpf_spin_unlock(&lock);
	return node ? container_of(node, struct packet, node) : NULL;
}

static __always_inline struct packet *take_first(void)
{
	struct bpf_rb_node *node;

	bpf_spin_lock(&lock);
	node = bpf_rbtree_first(&tree);
	if (!node) {
		bpf_spin_unlock(&lock);
		return NULL;
	}
	node = bpf_rbtree_remove(&tree, node);
	bpf_spin_unlock(&lock);
	return node ? container_of(node, struct packet, node) : NULL;
}

SEC("struct_ops")
int BPF_PROG(pifo_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	__u32 bytes = frame_bytes(skb);
	struct packet *packet;
	struct sk_buff *victim;
	__u64 rank = 0;
	enum pf_kind kind = rank_of(skb, &rank);

	if (kind != KIND_IP && config.not_ip_share)
		return enqueue_in_share(skb, sch, kind == KIND_NEIGHBOUR, to_free);

	/* With a capacity in bytes, one arrival may push out several packets. */
	for (__u32 i = 0; i < MAX_VICTIMS && used + units(bytes) > config.total; i++) {
		packet = take_last_above(rank);
		if (!packet)
			break;
		victim = bpf_kptr_xchg(&packet->skb, NULL);
		used -= units(packet->bytes);
		sch->q.qlen--;
		sch->qstats.backlog -= packet->bytes;
		sch->qstats.drops++;
		stats.evicted++;
		if (victim)
			bpf_qdisc_skb_drop(victim, to_free);
		drop_object(packet);
	}
	if (used + units(bytes) > config.total)
		goto drop;
	packet = new_object(struct packet);
	if (!packet)
		goto drop;
	packet->rank = rank;
	packet->number = arrivals++;
	packet->bytes = bytes;
	victim = bpf_kptr_xchg(&packet->skb, skb);
	if (victim) /* there is none in a new object */
		bpf_qdisc_skb_drop(victim, to_free);
	bpf_spin_lock(&lock);
	bpf_rbtree_add_impl(&tree, &packet->node, leaves_before, NULL, 0);
	bpf_spin_unlock(&lock);
	used += units(bytes);
	admitted(sch, bytes);
	return NET_XMIT_SUCCESS;
drop:
	bpf_qdisc_skb_drop(skb, to_free);
	return refused(sch);
}

SEC("struct_ops")
struct sk_buff *BPF_PROG(pifo_dequeue, struct Qdisc *sch)
{
	struct packet *packet;
	struct sk_buff *skb;

	if (!sch->q.qlen || !link_is_free(sch))
		return NULL;
	skb = dequeue_from_share(sch);
	if (skb)
		return skb;
	packet = take_first();
	if (!packet)
		return NULL;
	skb = bpf_kptr_xchg(&packet->skb, NULL);
	used -= units(packet->bytes);
	drop_object(packet);
	if (!skb)
		return NULL;
	send(sch, skb);
	return skb;
}

/* One step of emptying the tree. The helper bpf_loop repeats it, so that the verifier need not follow every step. */
static int free_first(__u32 step, void *nothing)
{
	struct packet *packet = take_first();
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
void BPF_PROG(pifo_reset, struct Qdisc *sch)
{
	bpf_loop(MAX_HELD, free_first, NULL, 0);
	reset_share();
	used = 0;
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

QDISC(pifo);
