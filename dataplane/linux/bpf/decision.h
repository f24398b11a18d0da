/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef PIFOLAB_DECISION_H
#define PIFOLAB_DECISION_H

#include "intf.h"

#include <bpf/bpf_helpers.h>

/* Prevents the compiler from rewriting a checked value into a form that the verifier cannot follow. */
#define opaque(variable) asm volatile("" : "+r"(variable))

/* A scheduler's decision about a packet; for a full queue, `queue` is that queue. */
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
