/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The sliding window of AIFO and PACKS, and its quantile compared with free space in integers, without rounding. */
#ifndef PIFOLAB_WINDOW_H
#define PIFOLAB_WINDOW_H

#include "decision.h"

/* A test reads count * weight <= free * held * scale. */
struct window_parameters {
	__u64 weight;
	__u64 scale;
	__s64 shift; /* added to every rank held */
	__u32 slots;
	__u32 lower_or_equal;
	__u32 update_after;
	__u32 spare;
};

struct window_registers {
	__u64 ranks[MAX_WINDOW];
	__u32 next;
	__u32 held;
	__u32 unsampled; /* packets until the next one that enters */
	__u32 spare;
	__u64 highest; /* rank seen: for the queue bounds that status shows */
};

const volatile struct window_parameters window SEC(".rodata.window");
struct window_registers state SEC(".data.state");

static __always_inline void push_rank(__u64 rank)
{
	__u32 next = state.next;

	if (rank > state.highest)
		state.highest = rank;
	state.ranks[next & (MAX_WINDOW - 1)] = rank;
	next++;
	state.next = next < window.slots ? next : 0;
	if (state.held < window.slots)
		state.held++;
}

/* Ranks of the window that, shifted, are lower than `rank` (or lower or equal). */
static __always_inline __u64 count_lower(__u64 rank)
{
	__u64 limit = rank, count = 0;

	if (window.lower_or_equal)
		limit++;
	if (window.shift > 0) {
		if (limit <= window.shift)
			return 0;
		limit -= window.shift;
	} else {
		limit -= window.shift;
		/* A limit above every rank. */
		if (limit > EMPTY_SLOT)
			return state.held;
	}
	if (limit == 0)
		return 0;
	/* Ranks are below 2^63 and 0 < limit <= 2^63, so the sign of the difference is the comparison: no branches. Empty
	 * slots hold 2^63 and never count. */
#pragma clang loop unroll(disable)
	for (__u32 slot = 0; slot < MAX_WINDOW; slot += WINDOW_STEP) {
		if (slot >= window.slots)
			break;
		for (__u32 i = 0; i < WINDOW_STEP; i++)
			count += (state.ranks[slot + i] - limit) >> 63;
	}
	return count;
}

/* The denominator of quantiles: an empty window gives 0/1. */
static __always_inline __u64 held(void)
{
	return state.held ? state.held : 1;
}

#endif
