/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Logarithms without branches. */
#ifndef PIFOLAB_LOG2_H
#define PIFOLAB_LOG2_H

#include "decision.h"

/* 1 if `value` exceeds `limit`, else 0, for values below 2^63. Uses the sign of the difference instead of a comparison:
 * a branch for every bit of a logarithm would exceed the verifier's limit of paths. */
static __always_inline __u64 exceeds(__u64 value, __u64 limit)
{
	return (limit - value) >> 63;
}

/* floor(log2 value) of a value that is not 0 and below 2^63. */
static __always_inline __u32 log2_floor(__u64 value)
{
	__u64 exponent = 0, step;

#define HALVE(bits) \
	step = exceeds(value, (1ULL << (bits)) - 1) * (bits); \
	value >>= step; \
	exponent += step
	HALVE(32);
	HALVE(16);
	HALVE(8);
	HALVE(4);
	HALVE(2);
	HALVE(1);
#undef HALVE
	return exponent;
}

#endif
