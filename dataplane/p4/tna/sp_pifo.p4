// SPDX-License-Identifier: Apache-2.0
// SP-PIFO (Alcoz, Dietmüller, Vanbever, NSDI 2020, section 3.3 and Algorithm 1) on Tofino.
//
// One register per queue, each read in its own stage, from the lowest priority up. An inversion in queue 1 must lower
// the bounds that the packet has passed: it is resubmitted with the cost, and then goes to queue 1. Packets in between
// see higher bounds. Ranks above 2^31 - 1 count as that. Packets without room are dropped after they have moved bounds.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/tofino/sp_pifo.p4"
#endif
#include "target.p4"
#include PF_PARAMETERS
#define PF_RANK_BITS 32
#define PF_SIGNED_RANKS
#define PF_RESUBMITS
#include "depths.p4"
#include "types.p4"

#define PF_BOUND(q) \
    Register<int<32>, bit<1>>(1, 0) bound_##q; \
    RegisterAction<int<32>, bit<1>, bit<1>>(bound_##q) try_##q = { \
        void apply(inout int<32> bound, out bit<1> found) { \
            if (bound <= (int<32>)meta.rank) { \
                bound = (int<32>)meta.rank; \
                found = 1; \
            } else { \
                found = 0; \
            } \
        } \
    }; \
    RegisterAction<int<32>, bit<1>, bit<1>>(bound_##q) lower_##q = { \
        void apply(inout int<32> bound) { bound = bound |-| (int<32>)meta.rank; } \
    };

#define PF_TRY_BOUND(q) \
    if (meta.again == 1) { \
        lower_##q.execute(0); \
    } else if (found == 0) { \
        found = try_##q.execute(0); \
        decision.queue = q; \
    }

control Decide(in headers_t headers, inout metadata_t meta, inout decision_t decision) {
    PF_EACH_BOUND_FROM_LAST(PF_BOUND)
    Register<int<32>, bit<1>>(1, 0) bound_0;
    RegisterAction<int<32>, bit<1>, bit<32>>(bound_0) set_first = {
        void apply(inout int<32> bound, out bit<32> cost) {
            if (bound > (int<32>)meta.rank) {
                cost = (bit<32>)(bound - (int<32>)meta.rank);
            } else {
                cost = 0;
            }
            bound = (int<32>)meta.rank;
        }
    };
    apply {
        bit<1> found = 0;
        PF_EACH_BOUND_FROM_LAST(PF_TRY_BOUND)
        if (meta.again == 1) {
            decision.queue = 0;
        } else if (found == 0) {
            decision.queue = 0;
            meta.resubmitted.setValid();
            meta.resubmitted.unused = 0;
            meta.resubmitted.cost = set_first.execute(0);
            if (meta.resubmitted.cost != 0) {
                decision.resubmit = 1;
            }
        }
    }
}

#include "switch.p4"
