/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the BPF qdiscs share (Linux >= 6.16 with CONFIG_NET_SCH_BPF): the kernel's types and functions, the rank of a
 * packet, the pace of the link. A qdisc here is the root of its interface, orders the packets itself, and needs no HTB.
 *
 * Only names and sizes of the kernel's types matter; offsets are relocated when the program is loaded. linux/bpf.h is
 * not included: distributions ship headers that are older than these types. */
#ifndef PIFOLAB_QDISC_H
#define PIFOLAB_QDISC_H

#include "../decision.h"
#include "../intf.h"

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
#define BPF_MAP_TYPE_ARRAY 2
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
	__u16 protocol;
	__u16 network_header;
	unsigned char *head;
	char cb[48];
} KERNEL_STRUCT;

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
extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;

#define new_object(type) ((type *)bpf_obj_new_impl(bpf_core_type_id_local(type), NULL))
#define drop_object(object) bpf_obj_drop_impl(object, NULL)

const volatile struct pf_config config SEC(".rodata.config");
struct pf_qdisc_stats stats SEC(".data.stats");

/* The kernel's functions are for programs that declare this. */
char declared_license[] SEC("license") = "GPL";

/* Of the qdisc, which has a lock: programs of one qdisc never run at once. */
static __u64 link_free_at;

static __always_inline __u32 frame_bytes(struct sk_buff *skb)
{
	return ((struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

/* What a packet takes of a queue, in the unit of the capacities. */
static __always_inline __u64 units(__u32 bytes)
{
	return config.in_bytes ? bytes : 1;
}

static __always_inline __u64 payload_rank(const unsigned char *payload)
{
	__u8 bytes[8] = {};
	__u64 rank = 0;
	__u32 width = config.payload_width;

	if (width > sizeof(bytes) || bpf_probe_read_kernel(bytes, width, payload + config.payload_offset) < 0)
		return 0;
	for (__u32 i = 0; i < sizeof(bytes); i++) {
		if (i >= width)
			break;
		rank = rank << 8 | bytes[i];
	}
	return rank < EMPTY_SLOT ? rank : EMPTY_SLOT - 1;
}

/* The rank of a packet as the filters have it (rank.h); what is not IP (address resolution) goes first. */
static __always_inline __u64 rank_of(struct sk_buff *skb)
{
	const unsigned char *ip = skb->head + skb->network_header;
	__u8 header[40] = {}, protocol;
	__u32 transport;

	if (bpf_probe_read_kernel(header, sizeof(header), ip) < 0)
		return 0;
	if (skb->protocol == __builtin_bswap16(0x0800)) {
		if (config.rank_source == RANK_DSCP)
			return header[1] >> 2;
		if ((header[6] & 0x1F) | header[7])
			return 0;
		protocol = header[9];
		transport = (header[0] & 0xF) * 4;
	} else if (skb->protocol == __builtin_bswap16(0x86DD)) {
		if (config.rank_source == RANK_DSCP)
			return (header[0] & 0xF) << 2 | header[1] >> 6;
		protocol = header[6];
		transport = sizeof(header);
	} else {
		return 0;
	}
	if (protocol == 17)
		return payload_rank(ip + transport + 8);
	if (protocol != 6 || bpf_probe_read_kernel(header, 20, ip + transport) < 0)
		return 0;
	return payload_rank(ip + transport + (header[12] >> 4) * 4);
}

/* Whether the link is free; if not, the kernel asks again when it is. */
static __always_inline bool link_is_free(struct Qdisc *sch)
{
	if (bpf_ktime_get_ns() >= link_free_at)
		return true;
	bpf_qdisc_watchdog_schedule(sch, link_free_at, 0);
	return false;
}

/* The packet leaves: the link is busy for as long as it takes. What timers were late is made up for, up to the burst. */
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

#endif
