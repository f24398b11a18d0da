// SPDX-License-Identifier: Apache-2.0
// Fixed bounds: each queue takes a range of ranks that an operator chose, as prefixes. No state; the traffic manager
// drops packets without room.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/tofino/strict_priority.p4"
#endif
#include "target.p4"
#include PF_PARAMETERS
#define PF_RANK_BITS 32
#include "depths.p4"
#include "types.p4"

control Decide(in headers_t headers, inout metadata_t meta, inout decision_t decision) {
    action set_queue(bit<5> queue) { decision.queue = queue; }
    table queue_of {
        key = { meta.rank : ternary; }
        actions = { set_queue; NoAction; }
        const default_action = NoAction;
        const entries = { PF_QUEUE_OF(set_queue) }
        size = 512;
    }
    apply {
        queue_of.apply();
    }
}

#include "switch.p4"
