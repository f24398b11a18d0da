/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The occupancy of each queue when a packet arrives. All code here runs under the root qdisc's lock (the classifier as
 * a filter of that qdisc, the tracepoints around its enqueue and dequeue), so plain reads and writes are atomic enough.
 * */
#ifndef PIFOLAB_OCCUPANCY_H
#define PIFOLAB_OCCUPANCY_H

#include "common.h"

struct pf_clock link_clock SEC(".data.clock");
struct pf_leaves leaves SEC(".data.leaves");
struct pf_harness harness SEC(".data.harness");

/* Returns `object` as one of the kernel's type, whose fields the program reads without calling a helper: the kernel
 * replaces the call by nothing, and a wrong address reads 0. */
extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

/* The kernel has the function since Linux 6.2, but only types can be tested for without a helper. */
static __always_inline bool reads_directly(void)
{
	return bpf_core_type_exists(struct bpf_iter_num___since_6_4);
}

/* The word at an address of the kernel. */
static __always_inline __u64 word_at(__u64 address)
{
	__u64 word = 0;

	if (reads_directly()) {
		/* A type of the kernel itself, not of a module as HTB may be, that begins with a number of 64 bits. */
		struct timespec64 *place = bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct timespec64));

		return place->tv_sec;
	}
	bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
	return word;
}

/* The contents of a qdisc. */
static __always_inline __u64 held_by(__u64 qdisc)
{
	struct Qdisc *read = (struct Qdisc *)qdisc;

	if (reads_directly()) {
		read = bpf_rdonly_cast(read, bpf_core_type_id_kernel(struct Qdisc));
		return config.in_bytes ? read->qstats.backlog : read->q.qlen;
	}
	return config.in_bytes ? BPF_CORE_READ(read, qstats.backlog) : BPF_CORE_READ(read, q.qlen);
}

/* The qdisc of the transmit queue that the packet leaves by. Not inlined: it would cost programs that serve the whole
 * device some instructions for each packet. */
static __noinline __u64 qdisc_of_queue(struct __sk_buff *skb)
{
	struct sk_buff *packet = (struct sk_buff *)skb;
	__u64 queue;

	if (reads_directly())
		packet = bpf_rdonly_cast(packet, bpf_core_type_id_kernel(struct sk_buff));
	queue = reads_directly() ? (__u64)packet->dev->_tx : (__u64)BPF_CORE_READ(packet, dev, _tx);
	queue += (__u64)skb->queue_mapping * bpf_core_type_size(struct netdev_queue);
	return word_at(queue + bpf_core_field_offset(struct netdev_queue, qdisc));
}

/* The qdisc of the program: the root of the device that the packet leaves by or, under `mq`, that of its transmit
 * queue. */
static __always_inline __u64 root_of(struct __sk_buff *skb)
{
	struct sk_buff *packet = (struct sk_buff *)skb;

	if (config.per_queue)
		return qdisc_of_queue(skb);
	if (reads_directly()) {
		packet = bpf_rdonly_cast(packet, bpf_core_type_id_kernel(struct sk_buff));
		return (__u64)packet->dev->qdisc;
	}
	return (__u64)BPF_CORE_READ(packet, dev, qdisc);
}

/* The longest chain of a class hash that is walked; HTB starts with 16 buckets and has at most 33 classes. */
#define MAX_CHAIN 16

/* The head of a class's chain in HTB's table of classes. */
static __always_inline struct hlist_head *bucket_of(struct htb_sched *htb, __u32 classid)
{
	/* The kernel's qdisc_class_hash. */
	__u32 bucket = classid ^ (classid >> 8);

	bucket ^= bucket >> 4;
	/* The buckets are pointers: their size needs no relocation. */
	return BPF_CORE_READ(htb, clhash.hash) + (bucket & BPF_CORE_READ(htb, clhash.hashmask));
}

static __always_inline struct htb_class *class_of(struct hlist_node *node)
{
	return (void *)node - bpf_core_field_offset(struct htb_class, common) -
	       bpf_core_field_offset(struct Qdisc_class_common, hnode);
}

static __always_inline struct htb_sched *htb_of(__u64 root)
{
	return __builtin_preserve_access_index((void *)&((struct Qdisc *)root)->privdata);
}

/* Looks up the class of `queue`; 0 if it was removed. */
static __noinline __u64 find_class(__u32 queue)
{
	__u32 classid = config.root_handle + queue + 1;
	struct hlist_node *node = 0;

	bpf_probe_read_kernel(&node, sizeof(node), bucket_of(htb_of(leaves.root), classid));
	for (int i = 0; i < MAX_CHAIN && node; i++) {
		if (BPF_CORE_READ(class_of(node), common.classid) == classid)
			return (__u64)node;
		node = BPF_CORE_READ(node, next);
	}
	return 0;
}

/* Finds the classes, once for every table of HTB, which allocates a larger one when classes are added. */
static __always_inline void find_leaves(__u64 root)
{
	__u64 table = word_at((__u64)htb_of(root) + bpf_core_field_offset(struct htb_sched, clhash.hash));

	if (leaves.root == root && leaves.table == table)
		return;
	leaves.root = root;
	leaves.table = table;
	for (__u32 queue = 0; queue < config.queues && queue < MAX_QUEUES; queue++) {
		leaves.bucket[queue] = (__u64)bucket_of(htb_of(root), config.root_handle + queue + 1);
		leaves.class[queue] = find_class(queue);
	}
}

/* The contents of the kernel's leaf of `queue`. Other processes may replace leaves and classes at any time except now,
 * under the root's lock. So only pointers just read from the kernel's table are followed. */
static __always_inline __u64 in_leaf(__u32 queue)
{
	queue &= MAX_QUEUES - 1;
	__u64 node = word_at(leaves.bucket[queue]);

	if (node != leaves.class[queue])
		node = find_class(queue);
	if (!node)
		return 0;
	__u64 class = (__u64)class_of((struct hlist_node *)node);

	return held_by(word_at(class + bpf_core_field_offset(struct htb_class, leaf.q)));
}

/* Simulates the link since the last packet, queue 0 first. */
static __always_inline void advance_clock(void)
{
	__u64 now = bpf_ktime_get_ns(), elapsed = now - link_clock.last_ns;

	if (elapsed > 1ULL << 34)
		elapsed = 1ULL << 34;
	link_clock.last_ns = now;
	__u64 sent = elapsed * config.rate + link_clock.fraction;
	__u64 tokens = link_clock.tokens + (sent >> 20);

	link_clock.fraction = sent & ((1 << 20) - 1);
	if (link_clock.paced_bytes) {
		/* Frames that are not IP go first, within their share, and take their time on the link. */
		__u64 share = ((elapsed * config.rate >> 10) * config.not_ip_share >> 6) + link_clock.paced_fraction;
		__u64 allowed = share >> 20, waiting = link_clock.paced_bytes, served = waiting < allowed ? waiting : allowed;

		link_clock.paced_fraction = share & ((1 << 20) - 1);
		link_clock.paced_bytes = waiting - served;
		tokens -= served < tokens ? served : tokens;
	}
	for (__u32 queue = 0; queue < config.queues && queue < MAX_QUEUES; queue++) {
		__u64 bytes = link_clock.bytes[queue], served = bytes < tokens ? bytes : tokens;

		link_clock.bytes[queue] = bytes - served;
		tokens -= served;
	}
	link_clock.tokens = tokens < config.burst ? tokens : config.burst;
}

static __always_inline void look_at_queues(struct __sk_buff *skb)
{
	if (config.occupancy == OCCUPANCY_WALK)
		find_leaves(root_of(skb));
	if (config.occupancy == OCCUPANCY_CLOCK)
		advance_clock();
}

/* The occupancy of `queue`, in the unit of its capacity, without the packet in service. */
static __always_inline __u64 used(__u32 queue)
{
	if (queue >= MAX_QUEUES)
		return 0;
	switch (config.occupancy) {
	case OCCUPANCY_COUNTERS: {
		__u64 entered = counters.entered[queue], left = counters.left[queue];

		return entered > left ? entered - left : 0;
	}
	case OCCUPANCY_WALK:
		return in_leaf(queue);
	case OCCUPANCY_CLOCK: {
		__u64 bytes = link_clock.bytes[queue], mean = link_clock.mean[queue];

		/* Rounded down: a packet that is partly sent has left its queue. */
		return config.in_bytes ? bytes : mean ? bytes / mean : 0;
	}
	default:
		return harness.used[queue];
	}
}

static __always_inline bool fits(__u32 queue, __u32 bytes)
{
	return queue < MAX_QUEUES && used(queue) + units(bytes) <= config.capacity[queue];
}

/* Books an admitted packet, if nothing else counts it. */
static __always_inline void book(__u32 queue, __u32 bytes)
{
	if (config.occupancy != OCCUPANCY_CLOCK || queue >= MAX_QUEUES)
		return;
	__u64 mean = link_clock.mean[queue];

	link_clock.bytes[queue] += bytes;
	/* A moving average over about eight packets. */
	link_clock.mean[queue] = mean ? (7 * mean + bytes + 4) / 8 : bytes;
}

/* Books a frame that is not IP, unless its queue is full: the two queues hold 32 frames each. */
static __always_inline void book_paced(__u32 bytes)
{
	if (config.occupancy != OCCUPANCY_CLOCK)
		return;
	advance_clock();
	if (link_clock.paced_bytes <= 63 * (__u64)bytes)
		link_clock.paced_bytes += bytes;
}

/* Whether an event of a tracepoint concerns the qdisc of this program. */
static __always_inline bool is_ours(struct Qdisc *qdisc, const struct netdev_queue *txq)
{
	/* No other qdisc of the device has this handle. */
	return qdisc->handle == config.root_handle && txq->dev->ifindex == config.ifindex &&
	       txq->dev->nd_net.net->ns.inum == config.netns;
}

struct carried {
	__u32 queue;
	__u32 rank_high;
	__u32 rank_low;
	__u32 verdict;
	__u32 bytes;
};

/* The classifier's mark in the packet; false if the packet was not classified. Frames with a separate share have no
 * counted queue. */
static __always_inline bool read_carried(__u64 skb, struct carried *carried)
{
	__u64 place = skb + bpf_core_field_offset(struct sk_buff, cb) + bpf_core_field_offset(struct qdisc_skb_cb, data);
	/* The data end in the middle of the last word, before the end of `cb`. */
	__u64 words[] = {word_at(place), word_at(place + 8), word_at(place + 16)};

	__builtin_memcpy(carried, words, sizeof(*carried));
	if ((carried->queue & 0xFFFF0000U) != CLASSIFIED)
		return false;
	carried->queue &= 0xFFFF;
	return true;
}

/* Corrects the counters from the kernel's own, since tracepoints can miss packets for some milliseconds on one
 * processor (seen with kernel 6.18 in a paravirtualised guest). */
static __always_inline void resync(struct Qdisc *root)
{
	find_leaves((__u64)root);
	for (__u32 queue = 0; queue < config.queues && queue < MAX_QUEUES; queue++)
		counters.left[queue] = counters.entered[queue] - in_leaf(queue);
	counters.held = root->q.qlen;
	stats.resyncs++;
}

/* Called for packets that the leaf accepted and, since the kernel masks the reason, for those that the filter dropped;
 * not for those that the leaf refused. */
SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(count_enqueue, struct Qdisc *qdisc, const struct netdev_queue *txq, struct sk_buff *skb)
{
	struct carried carried;

	if (!is_ours(qdisc, txq))
		return 0;
	if (read_carried((__u64)skb, &carried) && carried.verdict == ADMITTED) {
		if (carried.queue < MAX_QUEUES)
			counters.entered[carried.queue & (MAX_QUEUES - 1)] += units(carried.bytes);
		counters.held++;
	}
	if (counters.held != qdisc->q.qlen)
		resync(qdisc);
	return 0;
}

/* The most packets that a driver takes at once, as a chain. The tracepoint's own count of them is too low. */
#define MAX_BULK 256

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(count_dequeue, struct Qdisc *qdisc, const struct netdev_queue *txq, int packets, struct sk_buff *skb)
{
	__u64 next = (__u64)skb;
	struct carried carried;

	if (!is_ours(qdisc, txq))
		return 0;
	/* Packets that a busy device returns are dequeued again before all others, and have been counted. */
	__u32 requeues = qdisc->qstats.requeues;

	counters.outstanding += (__u32)(requeues - (__u32)counters.requeues);
	counters.requeues = requeues;
#pragma clang loop unroll(disable)
	for (int i = 0; i < MAX_BULK && next; i++) {
		if (counters.outstanding) {
			counters.outstanding--;
		} else if (read_carried(next, &carried)) {
			__u64 rank = (__u64)carried.rank_high << 32 | carried.rank_low;

			if (carried.queue < MAX_QUEUES)
				counters.left[carried.queue & (MAX_QUEUES - 1)] += units(carried.bytes);
			counters.held--;
			if (rank > counters.virtual_time)
				counters.virtual_time = rank;
		}
		next = word_at(next + bpf_core_field_offset(struct sk_buff, next));
	}
	if (config.occupancy == OCCUPANCY_COUNTERS && counters.held != qdisc->q.qlen && counters.outstanding == 0)
		resync(qdisc);
	return 0;
}

#endif
