/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* First in, first out, the baseline of the others. No state. */
#ifndef PIFOLAB_FIFO_H
#define PIFOLAB_FIFO_H

static __always_inline struct decision decide(__u64 rank, __u32 bytes)
{
	return fits(0, bytes) ? admit(0) : drop_full(0);
}

#endif
