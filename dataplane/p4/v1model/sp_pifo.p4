// SPDX-License-Identifier: Apache-2.0
// SP-PIFO (Alcoz, Dietmüller, Vanbever, NSDI 2020, section 3.3 and Algorithm 1): adaptive bounds map ranks to
// strict-priority queues.
//
// State as the paper counts it: one register per queue. Every option of the library is here. Bounds are signed; with their
// sign bit flipped unsigned comparisons order them, and |-| stops at the smallest integer, where decisions are the same,
// since every rank passes a bound at or below zero.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/sp_pifo.p4"
#endif
#include <core.p4>
#include <v1model.p4>
#include PF_PARAMETERS
#include "queues.p4"

#define SIGN 64w0x8000000000000000

register<bit<64>>(PF_QUEUES) bounds;

#define PF_READ_BOUND(q, capacity) \
    bit<64> bound_##q; \
    bounds.read(bound_##q, 32w##q); \
    bound_##q = bound_##q ^ SIGN;
#define PF_WRITE_BOUND(q, capacity) bounds.write(32w##q, bound_##q ^ SIGN);
// From the highest priority down: the last bound that the rank reaches is the first one from the lowest priority up.
#define PF_TRY_BOUND(q, capacity) if (biased >= bound_##q) { decision.queue = 8w##q; }
#define PF_SET_BOUND(q, capacity) if (decision.queue == 8w##q) { bound_##q = biased; }

#if PF_PUSH_DOWN == PF_PUSH_QUEUE_BOUND || PF_PUSH_DOWN == PF_PUSH_QUEUE_BOUND_OLD
#define PF_PUSH(q, capacity) \
    moved = bound_##q; \
    bound_##q = above; \
    if (bound_##q < PF_FLOOR) { bound_##q = PF_FLOOR; } \
    above = moved;
#else
#define PF_PUSH(q, capacity) \
    bound_##q = bound_##q |-| step; \
    if (bound_##q < PF_FLOOR) { bound_##q = PF_FLOOR; }
#endif

control Decide(in bit<64> rank, in bit<32> bytes, inout decision_t decision) {
    apply {
        bool full = false;
        bit<64> biased = rank ^ SIGN;
        bit<64> moved = 0;
        PF_LOOK_AT_QUEUES
        PF_EACH_QUEUE(PF_READ_BOUND)
        bit<64> first = bound_0;
        bit<64> above = first;
        bit<64> step = first - biased;
#if PF_PUSH_DOWN == PF_PUSH_QUEUE_BOUND
        above = biased;
#elif PF_PUSH_DOWN == PF_PUSH_RANK
        step = rank;
#elif PF_PUSH_DOWN == PF_PUSH_ONE
        step = 1;
#endif
#if PF_PUSH_DOWN_FIRST
        // MetaOpt's model: all bounds move before the queue is chosen, queue 1's like the others.
        if (biased < first) {
            PF_EACH_QUEUE_BELOW_FIRST(PF_PUSH)
#if PF_PUSH_DOWN == PF_PUSH_RANK || PF_PUSH_DOWN == PF_PUSH_ONE
            bound_0 = first |-| step;
            if (bound_0 < PF_FLOOR) { bound_0 = PF_FLOOR; }
#else
            bound_0 = biased;
#endif
        }
#endif
        PF_EACH_QUEUE(PF_TRY_BOUND)
        PF_EACH_QUEUE(PF_CHECK_ROOM)
        if (full) { decision.verdict = DROPPED_FULL; }
#if PF_UPDATE_ON_FULL == 0
        // A full queue leaves all bounds as they were.
        if (!full)
#endif
        {
            PF_EACH_QUEUE(PF_SET_BOUND)
#if PF_PUSH_DOWN_FIRST == 0
            if (decision.queue == 0 && biased < first) {
                PF_EACH_QUEUE_BELOW_FIRST(PF_PUSH)
            }
#endif
            PF_EACH_QUEUE(PF_WRITE_BOUND)
        }
    }
}

#include "switch.p4"
