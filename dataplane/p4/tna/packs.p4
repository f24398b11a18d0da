// SPDX-License-Identifier: Apache-2.0
// PACKS (Alcoz et al., NSDI 2025, section 4.3 and Algorithm 1) on Tofino, with four queues.
//
// One register per window slot, and the depth of each queue. The test is solved beforehand: a table says for each count of lower
// ranks how much free space it needs, exactly; the free space of the queues is added up, and what each queue lacks is
// looked up together with which queues are full.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/tofino/packs.p4"
#endif
#include "target.p4"
#include PF_PARAMETERS
#define PF_RANK_BITS 32
#define PF_READS_DEPTHS
#include "depths.p4"
#include "types.p4"
#include "window.p4"

#define PF_FREE(q, capacity) \
    bit<16> depth_##q = (bit<16>)get_##q.execute(0); \
    bit<16> free_##q = capacity |-| depth_##q;

control Decide(in headers_t headers, inout metadata_t meta, inout decision_t decision) {
    PF_WINDOW_REGISTERS
    PF_DEPTHS
    bit<16> need = 0;
    bit<8> lower = 0;
    bit<16> lack_0 = 0;
    bit<16> lack_1 = 0;
    bit<16> lack_2 = 0;
    bit<16> lack_3 = 0;
    bit<16> room_0 = 0;
    bit<16> room_1 = 0;
    bit<16> room_2 = 0;
    bit<16> room_3 = 0;
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
    apply {
        if (headers.depth.isValid()) {
            PF_EACH_QUEUE(PF_WRITE_DEPTH)
        } else {
            PF_EACH_QUEUE(PF_FREE)
            PF_COUNT
            lower = lower_0;
            need_of.apply();
            bit<16> free_01 = free_0 + free_1;
            bit<16> free_23 = free_2 + free_3;
            bit<16> free_012 = free_01 + free_2;
            bit<16> free_0123 = free_01 + free_23;
            lack_0 = need |-| free_0;
            lack_1 = need |-| free_01;
            lack_2 = need |-| free_012;
            lack_3 = need |-| free_0123;
            room_0 = free_0;
            room_1 = free_1;
            room_2 = free_2;
            room_3 = free_3;
            choice.apply();
        }
    }
}

#include "switch.p4"
