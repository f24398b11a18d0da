// SPDX-License-Identifier: Apache-2.0
// First in, first out, the baseline of the others. No state; the traffic manager drops packets without room.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/tofino/fifo.p4"
#endif
#include "target.p4"
#include PF_PARAMETERS
#define PF_RANK_BITS 32
#include "depths.p4"
#include "types.p4"

control Decide(in headers_t headers, inout metadata_t meta, inout decision_t decision) {
    apply {
        decision.queue = 0;
    }
}

#include "switch.p4"
