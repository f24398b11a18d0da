// SPDX-License-Identifier: Apache-2.0
// PACKS (Alcoz et al., NSDI 2025, section 4.3 and Algorithm 1): the quantile of a rank in a sliding window decides whether a
// packet enters and which queue takes it.
//
// State as the paper counts it: one register per window slot, and the occupancy of each queue, or of the whole buffer with
// the approximation of section 5 (`occupancy = global`). The test of queue i
//   count / held <= (free space of queues 1..i) / B / (1 - k)
// is multiplied out to integers.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/packs.p4"
#endif
#include <core.p4>
#include <v1model.p4>
#include PF_PARAMETERS
#include "queues.p4"
#include "window.p4"

#define PF_SUBTRACT_USED(q, capacity) whole = whole - (bit<192>)used_##q;
#if PF_GLOBAL_OCCUPANCY
#define PF_FREE_PART(q, capacity) whole
#else
#define PF_FREE_PART(q, capacity) (bit<192>)(capacity - used_##q)
#endif
#if PF_FALL_THROUGH
#define PF_AFTER_FULL
#else
#define PF_AFTER_FULL done = true;
#endif

#define PF_TRY_QUEUE(q, capacity) \
    free = free + PF_FREE_PART(q, capacity); \
    if (!done && product <= free * per_unit) { \
        if (used_##q + PF_UNITS(bytes) <= capacity) { \
            decision.queue = 8w##q; \
            decision.verdict = ADMITTED; \
            done = true; \
        } else { \
            if (decision.verdict == DROPPED_ADMISSION) { \
                decision.queue = 8w##q; \
                decision.verdict = DROPPED_FULL; \
            } \
            PF_AFTER_FULL \
        } \
    }

control Decide(in bit<64> rank, in bit<32> bytes, inout decision_t decision) {
    Push() push;
    Count() count;
    apply {
        bool done = false;
        bit<192> lower;
        bit<192> held;
        bit<192> free = 0;
        bit<192> whole = (bit<192>)PF_TOTAL;
        PF_LOOK_AT_QUEUES
#if PF_UPDATE_AFTER == 0
        push.apply(rank);
#endif
        count.apply(rank, lower, held);
        bit<192> product = lower * PF_WEIGHT;
        bit<192> per_unit = held * PF_SCALE;
#if PF_GLOBAL_OCCUPANCY
        PF_EACH_QUEUE(PF_SUBTRACT_USED)
#endif
        decision.verdict = DROPPED_ADMISSION;
        PF_EACH_QUEUE(PF_TRY_QUEUE)
#if PF_UPDATE_AFTER
        push.apply(rank);
#endif
    }
}

#include "switch.p4"
