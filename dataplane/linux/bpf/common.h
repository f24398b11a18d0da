/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What every program shares: configuration and statistics. */
#ifndef PIFOLAB_COMMON_H
#define PIFOLAB_COMMON_H

#include "intf.h"
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#define TC_ACT_OK 0
#define TC_ACT_SHOT 2

const volatile struct pf_config config SEC(".rodata.config");
struct pf_stats stats SEC(".data.stats");
struct pf_counters counters SEC(".data.counters");

/* Helpers such as bpf_probe_read_kernel and the tracepoints are for programs that declare this. */
char declared_license[] SEC("license") = "GPL";

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

/* What `bytes` take of a queue, in the unit of the capacities. */
static __always_inline __u64 units(__u32 bytes)
{
	return config.in_bytes ? bytes : 1;
}

#endif
