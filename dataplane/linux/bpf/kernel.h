/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The few kernel structs that the programs read. Field offsets are relocated to the running kernel when the program is
 * loaded, so only names and types matter here. */
#ifndef PIFOLAB_KERNEL_H
#define PIFOLAB_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>

#define KERNEL_STRUCT __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} KERNEL_STRUCT;

struct net {
	struct ns_common ns;
} KERNEL_STRUCT;

typedef struct {
	struct net *net;
} KERNEL_STRUCT possible_net_t;

struct Qdisc;

struct net_device {
	int ifindex;
	struct Qdisc *qdisc;
	struct netdev_queue *_tx;
	possible_net_t nd_net;
} KERNEL_STRUCT;

struct netdev_queue {
	struct net_device *dev;
	struct Qdisc *qdisc;
} KERNEL_STRUCT;

struct qdisc_skb_head {
	__u32 qlen;
} KERNEL_STRUCT;

struct gnet_stats_queue {
	__u32 backlog;
	__u32 requeues;
} KERNEL_STRUCT;

struct Qdisc {
	__u32 handle;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
	long privdata[0];
} KERNEL_STRUCT;

struct sk_buff {
	struct sk_buff *next;
	struct net_device *dev;
	char cb[48];
} KERNEL_STRUCT;

/* The qdisc's part of sk_buff.cb; `data` is the part that a tc program reads as __sk_buff.cb. */
struct qdisc_skb_cb {
	unsigned char data[20];
} KERNEL_STRUCT;

struct timespec64 {
	__s64 tv_sec;
} KERNEL_STRUCT;

struct hlist_node {
	struct hlist_node *next;
} KERNEL_STRUCT;

struct hlist_head {
	struct hlist_node *first;
} KERNEL_STRUCT;

struct Qdisc_class_common {
	__u32 classid;
	struct hlist_node hnode;
} KERNEL_STRUCT;

struct Qdisc_class_hash {
	struct hlist_head *hash;
	unsigned int hashmask;
} KERNEL_STRUCT;

struct htb_sched {
	struct Qdisc_class_hash clhash;
} KERNEL_STRUCT;

struct htb_class_leaf {
	struct Qdisc *q;
} KERNEL_STRUCT;

struct htb_class {
	struct Qdisc_class_common common;
	union {
		struct htb_class_leaf leaf;
	};
} KERNEL_STRUCT;

/* A type that the kernel has since Linux 6.4. */
struct bpf_iter_num___since_6_4 {
	int unused;
};

#endif
