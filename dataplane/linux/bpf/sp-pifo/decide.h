/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * SP-PIFO (Alcoz, Dietmüller, Vanbever, NSDI 2020, section 3.3 and Algorithm 1): adaptive bounds map ranks to
 * strict-priority queues. The decision, for the filter and for the qdisc, which define `config` and `fits`.
 *
 * State as the paper counts it: one register per queue. Every option of the library is here. Bounds saturate at the
 * smallest integer; every rank passes a bound at or below zero, so decisions are the same.
 */
#ifndef PIFOLAB_SP_PIFO_H
#define PIFOLAB_SP_PIFO_H

struct parameters {
	__s64 floor;	 /* the least bound */
	__u32 push_down; /* SP_PIFO_PUSH_DOWN_*: how bounds fall */
	__u32 update_on_full;
	__u32 push_down_first;
	__u32 spare;
};

struct registers {
	__s64 bounds[MAX_QUEUES];
};

const volatile struct parameters parameters SEC(".rodata.parameters");
struct registers state SEC(".data.state");
/* The bounds before a push-down that a drop takes back (`order = push-down-first`): no register of the algorithm. */
struct registers before SEC(".data.scratch");

static __always_inline __s64 lowered(__s64 bound, __s64 by)
{
	__s64 least = (-9223372036854775807LL - 1) + by; /* `by` is not negative */
	__s64 moved = bound < least ? -9223372036854775807LL - 1 : bound - by;

	return moved < parameters.floor ? parameters.floor : moved;
}

static __always_inline __s64 raised(__s64 bound)
{
	return bound < parameters.floor ? parameters.floor : bound;
}

static __always_inline void push_down(__s64 rank, __s64 first)
{
	__s64 above = parameters.push_down == SP_PIFO_PUSH_DOWN_QUEUE_BOUND ? rank : first;
	__s64 by = parameters.push_down == SP_PIFO_PUSH_DOWN_COST   ? first - rank
		   : parameters.push_down == SP_PIFO_PUSH_DOWN_RANK ? rank
								    : 1;

#pragma clang loop unroll(disable)
	for (__u32 queue = 1; queue < MAX_QUEUES; queue++) {
		if (queue >= config.queues)
			break;
		__s64 bound = state.bounds[queue];

		if (parameters.push_down == SP_PIFO_PUSH_DOWN_QUEUE_BOUND ||
		    parameters.push_down == SP_PIFO_PUSH_DOWN_QUEUE_BOUND_OLD) {
			state.bounds[queue] = raised(above);
			above = bound;
		} else {
			state.bounds[queue] = lowered(bound, by);
		}
	}
}

/* MetaOpt's model: queue 1's bound falls like the others. */
static __always_inline void push_all_down(__s64 rank, __s64 first)
{
	push_down(rank, first);
	if (parameters.push_down == SP_PIFO_PUSH_DOWN_RANK)
		state.bounds[0] = lowered(first, rank);
	else if (parameters.push_down == SP_PIFO_PUSH_DOWN_ONE)
		state.bounds[0] = lowered(first, 1);
	else
		state.bounds[0] = rank;
}

static __always_inline void copy(struct registers *to, const struct registers *from)
{
#pragma clang loop unroll(disable)
	for (__u32 queue = 0; queue < MAX_QUEUES; queue++) {
		if (queue >= config.queues)
			break;
		to->bounds[queue] = from->bounds[queue];
	}
}

static __always_inline struct decision decide(__u64 unsigned_rank, __u32 bytes)
{
	__s64 rank = unsigned_rank, first = state.bounds[0];
	bool falls = parameters.push_down_first && rank < first;
	__u32 queue = 0;

	if (falls) {
		if (!parameters.update_on_full)
			copy(&before, &state);
		push_all_down(rank, first);
	}
	/* From the lowest priority up: the first queue whose bound the rank reaches, else queue 1 of the paper. */
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MAX_QUEUES; i++) {
		if (i >= config.queues)
			break;
		__u32 candidate = (config.queues - 1 - i) & (MAX_QUEUES - 1);

		if (rank >= state.bounds[candidate]) {
			queue = candidate;
			break;
		}
	}
	bool room = fits(queue, bytes);

	if (room || parameters.update_on_full) {
		state.bounds[queue] = rank;
		if (queue == 0 && rank < first && !parameters.push_down_first)
			push_down(rank, first);
	} else if (falls) {
		copy(&state, &before);
	}
	return room ? admit(queue) : drop_full(queue);
}

#endif
