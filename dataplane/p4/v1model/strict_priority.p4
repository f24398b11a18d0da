// SPDX-License-Identifier: Apache-2.0
// Fixed bounds: each queue takes a range of ranks that an operator chose. No state.
//
// The queue of a rank is the last queue whose bound it reaches, or queue 1 of the papers.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/strict_priority.p4"
#endif
#include <core.p4>
#include <v1model.p4>
#include PF_PARAMETERS
#include "queues.p4"

#define PF_TRY_BOUND(q, bound) if (rank >= bound) { decision.queue = 8w##q; }

control Decide(in bit<64> rank, in bit<32> bytes, inout decision_t decision) {
    apply {
        bool full = false;
        PF_LOOK_AT_QUEUES
        PF_EACH_BOUND(PF_TRY_BOUND)
        PF_EACH_QUEUE(PF_CHECK_ROOM)
        if (full) { decision.verdict = DROPPED_FULL; }
    }
}

#include "switch.p4"
