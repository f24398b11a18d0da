// SPDX-License-Identifier: Apache-2.0
// AIFO (Yu et al., SIGCOMM 2021, section 4.2 and Algorithm 1) on Tofino.
//
// One register per window slot. The test is precomputed: a table has for each count of lower ranks the exact
// occupancies that are too large.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/tofino/aifo.p4"
#endif
#include "target.p4"
#include PF_PARAMETERS
#define PF_RANK_BITS 32
#define PF_READS_DEPTHS
#include "depths.p4"
#include "types.p4"
#include "window.p4"

control Decide(in headers_t headers, inout metadata_t meta, inout decision_t decision) {
    PF_WINDOW_REGISTERS
    PF_DEPTHS
    bit<16> depth = 0;
    bit<16> beyond = 0;
    bit<16> left = 0;
    // The least occupancy that this count does not admit.
    action set_beyond(bit<16> occupancy) { beyond = occupancy; }
    table beyond_of {
        key = { lower : exact; }
        actions = { set_beyond; NoAction; }
        const default_action = NoAction;
        const entries = { PF_BEYOND(set_beyond) }
        size = 32;
    }
    PF_STEP(compute_left, left = beyond |-| depth;)
    apply {
        if (headers.depth.isValid()) {
            PF_EACH_QUEUE(PF_WRITE_DEPTH)
        } else {
            depth = get_0.execute(0);
            PF_COUNT
            beyond_of.apply();
            compute_left.apply();
            decision.queue = 0;
            if (left == 0) { decision.drop = 1; }
        }
    }
}

#include "switch.p4"
