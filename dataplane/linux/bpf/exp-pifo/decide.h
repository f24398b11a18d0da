/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Exp-PIFO (Mostafaei, Ezzati, Cuijpers, Schmid, CoNEXT 2025, section 2.2 and Algorithm 1): strict-priority queues
 * whose bounds grow exponentially up to the highest recent rank.
 *
 * State as the paper counts it: two registers (beta, counter) and two look-up tables: the logarithm (comparisons here;
 * eBPF has no ternary match) and the queue of each exponent and logarithm. With `mapping = bounds` the second table
 * holds the bounds of section 2.2 instead.
 */
#ifndef PIFOLAB_EXP_PIFO_H
#define PIFOLAB_EXP_PIFO_H

#include "../log2.h"

/* Ranks are below 2^63, so exponents are at most 63 however they are rounded. */
#define EXPONENTS 64

struct parameters {
	__u64 window_end; /* the counter at which the window ends */
	__u64 r_min;
	__u32 r_min_exponent;
	__u32 ceil; /* exponents are rounded up */
	__u32 by_bounds;
	__u32 spare;
};

struct registers {
	__u64 counter;
	__u32 beta;
	__u32 spare;
};

/* The queue of each exponent and each logarithm, and the bounds of the mapping by bounds. */
struct table {
	__u8 queue[EXPONENTS * EXPONENTS];
	__u64 bounds[EXPONENTS * MAX_QUEUES];
};

const volatile struct parameters parameters SEC(".rodata.parameters");
const volatile struct table table SEC(".rodata.table");
struct registers state SEC(".data.state");

/* max(0, floor(log2(rank / r_min))), exactly. */
static __always_inline __u32 logarithm(__u64 rank)
{
	if (rank < parameters.r_min)
		return 0;
	__u32 difference = (log2_floor(rank) - parameters.r_min_exponent) & (EXPONENTS - 1);

	return parameters.r_min << difference > rank ? difference - 1 : difference;
}

static __always_inline __u32 queue_by_bounds(__u32 beta, __u64 rank)
{
	__u32 row = (beta & (EXPONENTS - 1)) * MAX_QUEUES;

#pragma clang loop unroll(disable)
	for (__u32 queue = 0; queue < MAX_QUEUES; queue++) {
		if (queue + 1 >= config.queues)
			break;
		if (rank <= table.bounds[(row + queue) & (EXPONENTS * MAX_QUEUES - 1)])
			return queue;
	}
	return config.queues - 1;
}

static __always_inline struct decision decide(__u64 rank, __u32 bytes)
{
	__u32 x = logarithm(rank), exponent = x;

	if (parameters.ceil && parameters.r_min << (x & (EXPONENTS - 1)) < rank)
		exponent++;
	if (exponent > state.beta)
		state.beta = exponent;
	state.counter++;
	if (state.counter >= parameters.window_end) {
		state.counter = 0;
		state.beta = exponent;
	}
	__u32 queue = parameters.by_bounds
			      ? queue_by_bounds(state.beta, rank)
			      : table.queue[((state.beta & (EXPONENTS - 1)) * EXPONENTS + x) & (EXPONENTS * EXPONENTS - 1)];

	queue &= MAX_QUEUES - 1;
	return fits(queue, bytes) ? admit(queue) : drop_full(queue);
}

#endif
