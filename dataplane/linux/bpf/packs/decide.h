/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * PACKS (Alcoz et al., NSDI 2025, section 4.3 and Algorithm 1): the quantile of a rank in a sliding window decides
 * whether a packet enters and which queue takes it.
 *
 * State as the paper counts it: one register per window slot, and the occupancy of each queue, or of the whole buffer
 * with the approximation of section 5 (`occupancy = global`). The test of queue i
 *   count / held <= (free space of queues 1..i) / B / (1 - k)
 * is multiplied out to integers; user space refuses settings whose products need more than 64 bits.
 */
#ifndef PIFOLAB_PACKS_H
#define PIFOLAB_PACKS_H

#include "../window.h"

struct parameters {
	__u32 global_occupancy; /* only that of the whole buffer is known */
	__u32 fall_through;	/* a packet whose queue is full tries the next */
};

const volatile struct parameters parameters SEC(".rodata.parameters");

static __always_inline struct decision select_queue(__u64 rank, __u32 bytes)
{
	struct decision refusal = drop_admission();
	__u64 left = count_lower(rank) * window.weight;
	__u64 per_unit = held() * window.scale;
	__u64 whole = 0, free_parts = 0;

	if (parameters.global_occupancy) {
		whole = config.total;
#pragma clang loop unroll(disable)
		for (__u32 queue = 0; queue < MAX_QUEUES; queue++) {
			if (queue >= config.queues)
				break;
			whole -= used(queue);
		}
	}
#pragma clang loop unroll(disable)
	for (__u32 queue = 0; queue < MAX_QUEUES; queue++) {
		if (queue >= config.queues)
			break;
		__u64 in_queue = used(queue);

		free_parts += parameters.global_occupancy ? whole : config.capacity[queue] - in_queue;
		if (left > free_parts * per_unit)
			continue;
		if (in_queue + units(bytes) <= config.capacity[queue])
			return admit(queue);
		if (refusal.verdict == DROPPED_ADMISSION)
			refusal = drop_full(queue);
		if (!parameters.fall_through)
			break;
	}
	return refusal;
}

static __always_inline struct decision decide(__u64 rank, __u32 bytes)
{
	if (!window.update_after)
		push_rank(rank);
	struct decision decision = select_queue(rank, bytes);

	if (window.update_after)
		push_rank(rank);
	return decision;
}

#endif
