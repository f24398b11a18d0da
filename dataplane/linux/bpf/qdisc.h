/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Shared by the BPF qdiscs (Linux >= 6.16 with CONFIG_NET_SCH_BPF): the kernel's types and functions, the rank of a
 * packet, the rate of the link. A qdisc here is the root of its interface, orders the packets itself, and needs no HTB.
 *
 * Only names and sizes of the kernel's types matter; offsets are relocated when the program is loaded. linux/bpf.h is
 * not included: distributions ship headers that are older than these types. */
#ifndef PIFOLAB_QDISC_H
#define PIFOLAB_QDISC_H

#include "decision.h"
#include "intf.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>
#include <stddef.h>

#define KERNEL_STRUCT __attribute__((preserve_access_index))
#define KPTR __attribute__((btf_type_tag("kptr")))
#define CONTAINS(type, node) __attribute__((btf_decl_tag("contains:" #type ":" #node)))
/* One map for each section: a spin lock protects the lists and trees of its own map. */
#define LOCKED(section) SEC(".data." #section) __attribute__((visibility("hidden"), aligned(8)))

/* Of linux/bpf.h. */
#ifndef __LINUX_BPF_H__
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_LPM_TRIE 11
#endif

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1

struct bpf_spin_lock {
	__u32 val;
};

struct bpf_list_head {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	__u64 opaque[3];
} __attribute__((aligned(8)));

struct bpf_rb_root {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_rb_node {
	__u64 opaque[4];
} __attribute__((aligned(8)));

struct sk_buff {
	unsigned int len;
	__u32 mark;
	__u16 vlan_proto;
	__u16 vlan_tci;
	char cb[48];
} KERNEL_STRUCT;

/* The kernel's sk_buff in the role of a filter's context. Defined, since a declaration would not match. */
struct __sk_buff {
	__u32 len;
};

struct bpf_dynptr {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct qdisc_skb_cb {
	unsigned int pkt_len;
} KERNEL_STRUCT;

/* Defined, not declared: a declaration would not match the kernel's prototypes. */
struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};

struct qdisc_skb_head {
	__u32 qlen;
} KERNEL_STRUCT;

struct gnet_stats_queue {
	__u32 qlen;
	__u32 backlog;
	__u32 drops;
} KERNEL_STRUCT;

struct Qdisc {
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} KERNEL_STRUCT;

struct nlattr;
struct netlink_ext_ack;

struct Qdisc_ops {
	char id[16];
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *answer);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
};

extern void *bpf_obj_new_impl(__u64 type, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __ksym;
extern int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta, __u64 offset) __ksym;
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) __ksym;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node,
			       bool (*less)(struct bpf_rb_node *a, const struct bpf_rb_node *b), void *meta,
			       __u64 offset) __ksym;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) __ksym;
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node) __ksym;
extern struct bpf_rb_node *bpf_rbtree_root(struct bpf_rb_root *root) __ksym;
extern struct bpf_rb_node *bpf_rbtree_right(struct bpf_rb_root *root, struct bpf_rb_node *node) __ksym;
extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags, struct bpf_dynptr *to) __ksym;
extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;

#define new_object(type) ((type *)bpf_obj_new_impl(bpf_core_type_id_local(type), NULL))
#define drop_object(object) bpf_obj_drop_impl(object, NULL)

const volatile struct pf_config config SEC(".rodata.config");
struct pf_qdisc_stats stats SEC(".data.stats");

/* The kernel's functions require this declaration. */
char declared_license[] SEC("license") = "GPL";

/* The state of the qdisc. Its lock prevents two programs of one qdisc from running at once. */
static __u64 link_free_at;

static __always_inline __u32 frame_bytes(struct sk_buff *skb)
{
	return ((struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

/* The cost of a packet in a queue, in the unit of the capacities. */
static __always_inline __u64 units(__u32 bytes)
{
	return config.in_bytes ? bytes : 1;
}

/* A dynptr reads bytes anywhere, even in the fragments of a packet. */
#define PACKET struct bpf_dynptr
#define load_bytes(packet, offset, to, length) bpf_dynptr_read(to, length, packet, offset, 0)

#include "frame.h"

/* The kind of a packet for the scheduler, and its rank if it has one. */
static __always_inline enum pf_kind rank_of(struct sk_buff *skb, __u64 *rank)
{
	struct headers headers = {};
	struct bpf_dynptr packet;
	enum pf_kind kind = KIND_OTHER;
	__u32 tags = skb->vlan_proto || skb->vlan_tci ? 1 : 0;

	if (bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &packet) == 0)
		kind = parse(&packet, skb->len, tags, skb->vlan_tci, &headers);
	if (kind != KIND_IP) {
		*rank = config.rank_not_ip;
		if (kind == KIND_NEIGHBOUR)
			stats.neighbour++;
		else
			stats.other++;
	} else if (!carried_rank(&packet, &headers, skb->mark, rank)) {
		*rank = config.rank_missing;
		stats.unranked++;
	}
	return kind;
}

/* A packet in a first-in-first-out queue. */
struct waiting {
	__u32 bytes;
	struct sk_buff KPTR *skb;
	struct bpf_list_node node;
};

struct fifo {
	struct bpf_spin_lock lock;
	struct bpf_list_head packets CONTAINS(waiting, node);
};

/* The scheduler's queues, if it has queues, and those of frames that are not IP. */
#define FIFOS (MAX_QUEUES + 2)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FIFOS);
	__type(key, __u32);
	__type(value, struct fifo);
} fifos SEC(".maps");

static __always_inline struct waiting *take_oldest(__u32 index)
{
	struct fifo *fifo = bpf_map_lookup_elem(&fifos, &index);
	struct bpf_list_node *node;

	if (!fifo)
		return NULL;
	bpf_spin_lock(&fifo->lock);
	node = bpf_list_pop_front(&fifo->packets);
	bpf_spin_unlock(&fifo->lock);
	return node ? container_of(node, struct waiting, node) : NULL;
}

/* Appends a packet to a queue; drops it and returns false if there is no memory. */
static __always_inline bool put_behind(__u32 index, struct sk_buff *skb, __u32 bytes, struct bpf_sk_buff_ptr *to_free)
{
	struct fifo *fifo = bpf_map_lookup_elem(&fifos, &index);
	struct waiting *waiting;
	struct sk_buff *none;

	if (!fifo)
		goto drop;
	waiting = new_object(struct waiting);
	if (!waiting)
		goto drop;
	waiting->bytes = bytes;
	none = bpf_kptr_xchg(&waiting->skb, skb);
	if (none) /* there is none in a new object */
		bpf_qdisc_skb_drop(none, to_free);
	bpf_spin_lock(&fifo->lock);
	bpf_list_push_back_impl(&fifo->packets, &waiting->node, NULL, 0);
	bpf_spin_unlock(&fifo->lock);
	return true;
drop:
	bpf_qdisc_skb_drop(skb, to_free);
	return false;
}

/* One step of emptying a queue. The helper bpf_loop repeats it, so that the verifier need not follow every step. */
static int free_oldest(__u32 step, void *index)
{
	struct waiting *waiting = take_oldest(*(__u32 *)index);
	struct sk_buff *skb;

	if (!waiting)
		return 1;
	skb = bpf_kptr_xchg(&waiting->skb, NULL);
	if (skb)
		bpf_kfree_skb(skb);
	drop_object(waiting);
	return 0;
}

/* Whether the link is free; if not, the kernel calls again when it is. */
static __always_inline bool link_is_free(struct Qdisc *sch)
{
	if (bpf_ktime_get_ns() >= link_free_at)
		return true;
	bpf_qdisc_watchdog_schedule(sch, link_free_at, 0);
	return false;
}

/* The packet leaves: the link is busy for its transmission time. Delays of late timers are made up for, up to the
 * burst. */
static __always_inline void send(struct Qdisc *sch, struct sk_buff *skb)
{
	__u32 bytes = frame_bytes(skb);
	__u64 now = bpf_ktime_get_ns(), credit = (config.burst << 20) / config.rate;

	if (link_free_at + credit < now)
		link_free_at = now - credit;
	link_free_at += ((__u64)bytes << 20) / config.rate;
	sch->q.qlen--;
	sch->qstats.backlog -= bytes;
	bpf_qdisc_bstats_update(sch, skb);
}

static __always_inline void admitted(struct Qdisc *sch, __u32 bytes)
{
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
	stats.admitted++;
}

static __always_inline int refused(struct Qdisc *sch)
{
	sch->qstats.drops++;
	stats.dropped++;
	return NET_XMIT_DROP;
}

/* Frames that are not IP, in a separate share of the link: before ranked packets, but no faster than the share. Address
 * resolution and neighbour discovery alternate with all other frames. */
#define SHARE_LIMIT 32

/* Volatile, because clang 21 concludes that it is 0 or 1 and omits the mask that the verifier needs. */
static volatile __u32 share_turn;
static __u64 share_not_before;

static __always_inline int enqueue_in_share(struct sk_buff *skb, struct Qdisc *sch, bool neighbour,
					    struct bpf_sk_buff_ptr *to_free)
{
	__u32 bytes = frame_bytes(skb), index = neighbour ? QUEUE_NEIGHBOUR : QUEUE_OTHER;

	if (stats.share_held[!neighbour] >= SHARE_LIMIT) {
		bpf_qdisc_skb_drop(skb, to_free);
		goto dropped;
	}
	if (!put_behind(index, skb, bytes, to_free))
		goto dropped;
	stats.share_held[!neighbour]++;
	admitted(sch, bytes);
	return NET_XMIT_SUCCESS;
dropped:
	stats.share_dropped++;
	return refused(sch);
}

/* Takes the next frame of the share, if one may leave. */
static __always_inline struct sk_buff *dequeue_from_share(struct Qdisc *sch)
{
	struct waiting *waiting;
	struct sk_buff *skb;
	__u64 now;
	__u32 turn;

	if (!stats.share_held[0] && !stats.share_held[1])
		return NULL;
	now = bpf_ktime_get_ns();
	if (now < share_not_before) {
		/* Nothing else waits, so the kernel needs the time of its next call. */
		if (sch->q.qlen == stats.share_held[0] + stats.share_held[1])
			bpf_qdisc_watchdog_schedule(sch, share_not_before, 0);
		return NULL;
	}
	turn = share_turn & 1;
	if (!stats.share_held[turn])
		turn ^= 1;
	share_turn = turn ^ 1;
	waiting = take_oldest(QUEUE_NEIGHBOUR + turn);
	if (!waiting)
		return NULL;
	stats.share_held[turn]--;
	skb = bpf_kptr_xchg(&waiting->skb, NULL);
	/* Factor from bytes to their time at the rate of the share. */
	share_not_before = now + ((((__u64)waiting->bytes << 20) / config.rate) << 16) / config.not_ip_share;
	drop_object(waiting);
	if (skb)
		send(sch, skb);
	return skb;
}

static __always_inline void reset_share(void)
{
	__u32 index = QUEUE_NEIGHBOUR;

	bpf_loop(MAX_HELD, free_oldest, &index, 0);
	index = QUEUE_OTHER;
	bpf_loop(MAX_HELD, free_oldest, &index, 0);
	stats.share_held[0] = 0;
	stats.share_held[1] = 0;
}

/* The table of the qdisc `name`, which has the programs NAME_enqueue, NAME_dequeue and NAME_reset. */
#define QDISC(name)                                                                                       \
	SEC("struct_ops")                                                                                 \
	int BPF_PROG(name##_init, struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *answer) \
	{                                                                                                 \
		return 0;                                                                                 \
	}                                                                                                 \
	SEC("struct_ops")                                                                                 \
	void BPF_PROG(name##_destroy, struct Qdisc *sch)                                                  \
	{                                                                                                 \
	}                                                                                                 \
	SEC(".struct_ops")                                                                                \
	struct Qdisc_ops name = {                                                                         \
		.enqueue = (void *)name##_enqueue,                                                        \
		.dequeue = (void *)name##_dequeue,                                                        \
		.init = (void *)name##_init,                                                              \
		.reset = (void *)name##_reset,                                                            \
		.destroy = (void *)name##_destroy,                                                        \
		.id = "pifolab_" #name,                                                                   \
	}

#endif
