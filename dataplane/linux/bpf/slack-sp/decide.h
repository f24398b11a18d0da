/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Slack-SP (lab/pages/slack.md): bounds of strict-priority queues, each of which follows a fixed quantile of the ranks.
 *
 * State: one register per bound, one fewer than queues; with admission two more (the limit T, and the highest rank
 * seen). Each bound has one operation per packet: it is compared with the rank, and one of two moves is added. Bounds
 * are multiples of 2^-20 ranks; ranks from 2^42 on count as equal.
 */
#ifndef PIFOLAB_SLACK_SP_H
#define PIFOLAB_SLACK_SP_H

#define FRACTION 20
#define MOST (1ULL << 42)
#define HIGHEST 0x7FFFFFFFFFFFFFFFLL

/* The rise of a bound, and the difference between rise and fall: multiples of 2^-20 ranks, or of 2^-32 of the bound. */
struct parameters {
	__s64 up[MAX_QUEUES];
	__s64 whole;
	__s64 gain;   /* of the limit, for each packet that the buffer holds below the target */
	__s64 target; /* packets */
	__u32 proportional;
	__u32 admission;
	__u32 fall_through;
	__u32 spare;
};

struct registers {
	__s64 bounds[MAX_QUEUES];
	__s64 limit;
	__s64 highest;
};

const volatile struct parameters parameters SEC(".rodata.parameters");
struct registers state SEC(".data.state");

/* 1 if the number is negative, else 0. Not a comparison, because each branch on a bound doubles the paths that the
 * verifier walks, and the compiler would create one from code that it understands. */
static __always_inline __u64 is_negative(__s64 number)
{
	opaque(number);
	return (__u64)number >> 63;
}

/* A share of a bound, at least the smallest move. Neither is negative, and the share is below 1. */
static __always_inline __s64 share_of(__s64 bound, __s64 share)
{
	__u64 high = (__u64)bound >> 32, low = (__u64)bound & 0xFFFFFFFF;
	__s64 moved = high * (__u64)share + (low * (__u64)share >> 32);

	return moved + is_negative(moved - 1);
}

/* Moves every bound; returns how many of them the rank reaches. */
static __always_inline __u32 pass_bounds(__s64 rank)
{
	__u64 reached = config.queues - 1;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MAX_QUEUES; i++) {
		if (i + 1 >= config.queues)
			break;
		__s64 bound = state.bounds[i], up = parameters.up[i];
		__u64 below = is_negative(rank - bound);

		reached -= below;
		if (parameters.proportional) {
			__s64 share = up + ((parameters.whole - 2 * up) & -below);

			/* The move or its negative. */
			state.bounds[i] = bound + ((share_of(bound, share) ^ -below) + below);
		} else {
			state.bounds[i] = bound + up - (parameters.whole & -below);
		}
	}
	return reached;
}

/* Returns whether the limit refuses the rank, then moves it. A limit at the highest rank seen refuses nothing. */
static __always_inline bool refuses(__s64 rank)
{
	__s64 limit = state.limit, held = 0;

	if (limit >= state.highest && limit < rank)
		limit = rank;
	if (rank > state.highest)
		state.highest = rank;
	bool refused = rank > limit;

#pragma clang loop unroll(disable)
	for (__u32 queue = 0; queue < MAX_QUEUES; queue++) {
		if (queue >= config.queues)
			break;
		held += used(queue);
	}
	/* User space ensures that the product fits. */
	__s64 moved = parameters.gain * (parameters.target - held);

	limit = moved > 0 && limit > HIGHEST - moved ? HIGHEST : limit + moved;
	if (limit > state.highest)
		limit = state.highest;
	state.limit = limit < 0 ? 0 : limit;
	return refused;
}

static __always_inline struct decision decide(__u64 unsigned_rank, __u32 bytes)
{
	__s64 rank = (unsigned_rank < MOST ? unsigned_rank : MOST) << FRACTION;
	__u32 meant = pass_bounds(rank);

	if (parameters.admission && refuses(rank))
		return drop_admission();
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MAX_QUEUES; i++) {
		__u32 queue = meant + i;

		/* Otherwise the compiler continues with an address that the verifier has not checked. */
		opaque(queue);
		if (queue >= config.queues)
			break;
		if (fits(queue, bytes))
			return admit(queue);
		if (!parameters.fall_through)
			break;
	}
	return drop_full(meant);
}

#endif
