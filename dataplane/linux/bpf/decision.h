/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef PIFOLAB_DECISION_H
#define PIFOLAB_DECISION_H

#include "intf.h"

/* Keeps the compiler from rewriting what was checked into what the verifier does not follow. */
#define opaque(variable) asm volatile("" : "+r"(variable))

/* What a scheduler says about a packet; the queue also tells where a full queue was met. */
struct decision {
	__u32 queue;
	__u32 verdict;
};

static __always_inline struct decision admit(__u32 queue)
{
	return (struct decision){queue, ADMITTED};
}

static __always_inline struct decision drop_full(__u32 queue)
{
	return (struct decision){queue, DROPPED_FULL};
}

static __always_inline struct decision drop_admission(void)
{
	return (struct decision){0, DROPPED_ADMISSION};
}

#endif
