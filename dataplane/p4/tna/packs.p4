// SPDX-License-Identifier: Apache-2.0
// PACKS (Alcoz et al., NSDI 2025, section 4.3 and Algorithm 1) on Tofino, with four queues.
//
// One register per window slot, and the depth of each queue. The test is precomputed: a table has for each count of
// lower ranks the exact free space that it needs. The free space of the queues is summed, and the result for each queue
// is looked up together with the set of full queues.
#ifndef PF_PARAMETERS
// A window of 16 takes 13 stages, one more than Tofino has.
#if __TARGET_TOFINO__ == 2
#define PF_PARAMETERS "../parameters/tofino2/packs.p4"
#else
#define PF_PARAMETERS "../parameters/tofino/packs.p4"
#endif
#endif
#include "target.p4"
#include PF_PARAMETERS
#define PF_RANK_BITS 32
#define PF_READS_DEPTHS
#include "depths.p4"
#include "types.p4"
#include "window.p4"

#define PF_FREE(q, capacity) \
    bit<16> room_##q = 0; \
    bit<16> lack_##q = 0; \
    PF_STEP(compute_room_##q, room_##q = capacity |-| room_##q;)
#define PF_COMPUTE_FREE(q, capacity) \
    room_##q = get_##q.execute(0); \
    compute_room_##q.apply();

control Decide(in headers_t headers, inout metadata_t meta, inout decision_t decision) {
    PF_WINDOW_REGISTERS
    PF_DEPTHS
    PF_EACH_QUEUE(PF_FREE)
    // The sum of the free space of the first queues.
    bit<16> free_01 = 0;
    bit<16> free_23 = 0;
    bit<16> free_012 = 0;
    bit<16> free_0123 = 0;
    bit<16> need = 0;
    action set_need(bit<16> units) { need = units; }
    table need_of {
        key = { lower : exact; }
        actions = { set_need; NoAction; }
        const default_action = NoAction;
        const entries = { PF_NEED(set_need) }
        size = 32;
    }
    action choose(bit<5> queue, bit<3> drop) {
        decision.queue = queue;
        decision.drop = drop;
    }
    table choice {
        key = {
            lack_0 : ternary;
            lack_1 : ternary;
            lack_2 : ternary;
            lack_3 : ternary;
            room_0 : ternary;
            room_1 : ternary;
            room_2 : ternary;
            room_3 : ternary;
        }
        actions = { choose; }
        const default_action = choose(0, 1);
        const entries = { PF_CHOICE(choose) }
        size = 32;
    }
    PF_STEP(add_two, free_01 = room_0 + room_1; free_23 = room_2 + room_3;)
    PF_STEP(add_rest, free_012 = free_01 + room_2; free_0123 = free_01 + free_23;)
    PF_STEP(compute_lacks, lack_0 = need |-| room_0; lack_1 = need |-| free_01; lack_2 = need |-| free_012; lack_3 = need |-| free_0123;)
    apply {
        if (headers.depth.isValid()) {
            PF_EACH_QUEUE(PF_WRITE_DEPTH)
        } else {
            PF_EACH_QUEUE(PF_COMPUTE_FREE)
            add_two.apply();
            add_rest.apply();
            PF_COUNT
            need_of.apply();
            compute_lacks.apply();
            choice.apply();
        }
    }
}

#include "switch.p4"
