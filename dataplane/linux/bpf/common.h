/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Shared by all programs: configuration and statistics. */
#ifndef PIFOLAB_COMMON_H
#define PIFOLAB_COMMON_H

#include "decision.h"
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

/* Helpers such as bpf_probe_read_kernel, and tracepoints, require this declaration. */
char declared_license[] SEC("license") = "GPL";

/* The cost of `bytes` in a queue, in the unit of the capacities. */
static __always_inline __u64 units(__u32 bytes)
{
	return config.in_bytes ? bytes : 1;
}

#endif
