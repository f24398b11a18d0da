/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The strict-priority queues of a qdisc, for the decision of a filter. */
#ifndef PIFOLAB_QUEUES_H
#define PIFOLAB_QUEUES_H

#include "qdisc.h"

struct pf_held held_units SEC(".data.held");

/* The occupancy of `queue`, in the unit of its capacity. */
static __always_inline __u64 used(__u32 queue)
{
	return queue < MAX_QUEUES ? held_units.used[queue] : 0;
}

static __always_inline bool fits(__u32 queue, __u32 bytes)
{
	return queue < MAX_QUEUES && used(queue) + units(bytes) <= config.capacity[queue];
}

#endif
