/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * RIFO (Mostafaei, Pacut, Schmid, IEEE/ACM ToN 2025, section III and Algorithm 1; section V and Table I for the
 * tables): one queue that admits a packet if its place in the range of recent ranks is below the free share.
 *
 * State as the paper counts it: three registers (Min, Max, counter). `pow2` is the switch: three logarithms (tables of
 * 15 masks there, comparisons here) and two tables of 256 products. `alg1` and `eq3` multiply exactly, to 128 bits.
 */
#ifndef PIFOLAB_RIFO_H
#define PIFOLAB_RIFO_H

#include "../log2.h"

struct parameters {
	__u64 tracking_range; /* T */
	__u64 restart;	      /* where the counter restarts */
	__u64 guaranteed;     /* alg1: floor(kB) */
	__u64 sheltered;      /* eq3: (1-k)B times the denominator of k */
	__u64 denominator;
	__u32 mode;		  /* RIFO_MODE_* */
	__u32 sheltered_exponent; /* pow2: of (1-k)B */
	__u32 capacity_shift;	  /* pow2: by how much capacities are shifted to fit in 16 bits */
	__u32 spare;
};

struct registers {
	__u64 min;
	__u64 max;
	__u64 counter;
};

/* Products of powers of two: 2^(a+b) at 16 a + b. */
struct table {
	__u32 left[256];
	__u32 right[256];
};

const volatile struct parameters parameters SEC(".rodata.parameters");
const volatile struct table products SEC(".rodata.table");
struct registers state SEC(".data.state");

struct wide {
	__u64 high;
	__u64 low;
};

static __always_inline struct wide product(__u64 a, __u64 b)
{
	__u64 a_low = a & 0xFFFFFFFF, a_high = a >> 32, b_low = b & 0xFFFFFFFF, b_high = b >> 32;
	__u64 low = a_low * b_low, cross = a_high * b_low + (low >> 32);
	__u64 middle = a_low * b_high + (cross & 0xFFFFFFFF);

	return (struct wide){a_high * b_high + (cross >> 32) + (middle >> 32), middle << 32 | (low & 0xFFFFFFFF)};
}

static __always_inline bool at_most(struct wide a, struct wide b)
{
	return a.high != b.high ? a.high < b.high : a.low <= b.low;
}

/* Operands of more than 16 bits are shifted right together until the largest fits. */
static __always_inline __u32 bits_above_16(__u64 value)
{
	__u64 bits = log2_floor(value) + 1;

	return exceeds(bits, 16) * (bits - 16);
}

static __always_inline bool passes_pow2(__u64 above, __u64 range, __u64 free)
{
	__u32 shift = bits_above_16(range);

	above >>= shift;
	range >>= shift;
	free >>= parameters.capacity_shift;
	if (above == 0)
		return true;
	if (free == 0)
		return false;
	__u64 left = parameters.sheltered_exponent << 4 | log2_floor(above);
	__u64 right = log2_floor(range) << 4 | log2_floor(free);

	/* Hidden from the compiler, which would otherwise omit the masks or compute them in 32 bits: older verifiers need them
	 * directly before their use. */
	opaque(left);
	opaque(right);
	return products.left[left & 255] <= products.right[right & 255];
}

static __always_inline bool passes(__u64 above, __u64 range)
{
	__u64 in_queue = used(0);
	__u64 free = in_queue < config.total ? config.total - in_queue : 0;

	if (parameters.mode == RIFO_MODE_POW2)
		return passes_pow2(above, range, free);
	if (parameters.mode == RIFO_MODE_EQ3)
		return at_most(product(parameters.sheltered, above), product(free * parameters.denominator, range));
	return in_queue <= parameters.guaranteed || at_most(product(above, config.total), product(free, range));
}

static __always_inline void track(__u64 rank)
{
	if (state.counter == parameters.tracking_range) {
		state.min = rank;
		state.max = rank;
		state.counter = parameters.restart;
		return;
	}
	if (rank < state.min)
		state.min = rank;
	if (rank > state.max)
		state.max = rank;
	state.counter++;
}

static __always_inline struct decision decide(__u64 rank, __u32 bytes)
{
	track(rank);
	__u64 range = state.max - state.min;

	if (range != 0 && !passes(rank - state.min, range))
		return drop_admission();
	return fits(0, bytes) ? admit(0) : drop_full(0);
}

#endif
