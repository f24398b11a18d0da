/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * AIFO (Yu et al., SIGCOMM 2021, section 4.2 and Algorithm 1): one queue behind a test that admits the packets that
 * PIFO would send.
 *
 * State as the paper counts it: one register per window slot, and a sampling counter. The test
 *   count / held <= (C - c) / C / (1 - k)
 * is multiplied out to integers; user space refuses settings whose products need more than 64 bits.
 */
#ifndef PIFOLAB_AIFO_H
#define PIFOLAB_AIFO_H

#include "../window.h"

struct parameters {
	__u64 target;	/* C */
	__u64 headroom; /* occupancy up to which every rank passes */
	__u32 sample;	/* one packet in this many enters the window */
	__u32 strict;	/* the test is <, not <= */
};

const volatile struct parameters parameters SEC(".rodata.parameters");

static __always_inline void observe(__u64 rank)
{
	if (parameters.sample == 1) {
		push_rank(rank);
		return;
	}
	if (state.unsampled == 0) {
		push_rank(rank);
		state.unsampled = parameters.sample;
	}
	state.unsampled--;
}

static __always_inline bool passes(__u64 rank)
{
	__u64 held_packets = used(0);

	if (held_packets <= parameters.headroom)
		return true;
	/* Beyond the target the threshold is negative. */
	if (held_packets > parameters.target)
		return false;
	__u64 left = count_lower(rank) * window.weight;
	__u64 right = (parameters.target - held_packets) * (held() * window.scale);

	return parameters.strict ? left < right : left <= right;
}

static __always_inline struct decision decide(__u64 rank, __u32 bytes)
{
	if (!window.update_after)
		observe(rank);
	bool passed = passes(rank);

	if (window.update_after)
		observe(rank);
	if (!passed)
		return drop_admission();
	return fits(0, bytes) ? admit(0) : drop_full(0);
}

#endif
