// SPDX-License-Identifier: Apache-2.0
// First in, first out, the baseline of the others. No state.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/fifo.p4"
#endif
#include <core.p4>
#include <v1model.p4>
#include PF_PARAMETERS
#include "queues.p4"

control Decide(in bit<64> rank, in bit<32> bytes, inout decision_t decision) {
    apply {
        bool full = false;
        PF_LOOK_AT_QUEUES
        PF_EACH_QUEUE(PF_CHECK_ROOM)
        if (full) { decision.verdict = DROPPED_FULL; }
    }
}

#include "switch.p4"
