/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The sliding window of AIFO and PACKS, and its quantile compared with free space in integers, without rounding. */
#ifndef PIFOLAB_WINDOW_H
#define PIFOLAB_WINDOW_H

#include "common.h"

struct pf_window state SEC(".data.state");

static __always_inline void push_rank(__u64 rank)
{
	__u32 next = state.next;

	if (rank > state.highest)
		state.highest = rank;
	state.ranks[next & (MAX_WINDOW - 1)] = rank;
	next++;
	state.next = next < config.window ? next : 0;
	if (state.held < config.window)
		state.held++;
}

/* Ranks of the window that, shifted, are lower than `rank` (or lower or equal). */
static __always_inline __u64 count_lower(__u64 rank)
{
	__u64 limit = rank, count = 0;

	if (config.lower_or_equal)
		limit++;
	if (config.shift > 0) {
		if (limit <= config.shift)
			return 0;
		limit -= config.shift;
	} else {
		limit -= config.shift;
		/* Above every rank. */
		if (limit > EMPTY_SLOT)
			return state.held;
	}
	if (limit == 0)
		return 0;
	/* Ranks are below 2^63 and 0 < limit <= 2^63, so the sign of the difference is the comparison: no branches. Empty
	 * slots hold 2^63 and never count. */
#pragma clang loop unroll(disable)
	for (__u32 slot = 0; slot < MAX_WINDOW; slot += WINDOW_STEP) {
		if (slot >= config.window)
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
