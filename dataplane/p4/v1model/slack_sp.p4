// SPDX-License-Identifier: Apache-2.0
// Slack-SP (pifolab's own; docs/schedulers/slack-sp.md): a bound before each queue but the first, which rises by one constant for a rank
// that reaches it and falls by another for one that does not. A packet's queue is the number of bounds that its rank reaches.
//
// One register for each bound; none depends on another. Bounds are signed multiples of 2^-20 ranks. A register holds how far its bound
// is from where it started, since registers start at 0.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/slack_sp.p4"
#endif
#include <core.p4>
#include <v1model.p4>
#include PF_PARAMETERS
#include "queues.p4"

#define SIGN 64w0x8000000000000000
// Ranks from here on count as equal.
#define MOST_RANK 64w0x40000000000

register<bit<64>>(PF_QUEUES) bounds;

#if PF_PROPORTIONAL
// A share of the bound, a multiple of 2^-32; at least the smallest move.
#define PF_MOVE(by) \
    product = (bit<96>)at * (bit<96>)by; \
    move = product[95:32]; \
    if (move == 0) { move = 1; }
#else
#define PF_MOVE(by) move = by;
#endif

#define PF_TRY_BOUND(k, start, up, down) \
    bounds.read(moved, 32w##k); \
    at = moved + start; \
    if ((fixed ^ SIGN) >= (at ^ SIGN)) { \
        decision.queue = decision.queue + 1; \
        PF_MOVE(up) \
        moved = moved + move; \
    } else { \
        PF_MOVE(down) \
        moved = moved - move; \
    } \
    bounds.write(32w##k, moved);

#if PF_FALL_THROUGH
// The next queue behind a full one; behind the last full one the packet stays where it was meant to go.
#define PF_TAKE_ROOM(q, capacity) \
    if (full && decision.queue <= 8w##q && used_##q + PF_UNITS(bytes) <= capacity) { \
        decision.queue = 8w##q; \
        full = false; \
    }
#else
#define PF_TAKE_ROOM(q, capacity) \
    if (decision.queue == 8w##q && used_##q + PF_UNITS(bytes) <= capacity) { full = false; }
#endif

control Decide(in bit<64> rank, in bit<32> bytes, inout decision_t decision) {
    apply {
        bit<64> moved;
        bit<64> at;
        bit<64> move;
        bit<96> product;
        bool full = true;
        bit<64> fixed = rank;
        if (fixed > MOST_RANK) { fixed = MOST_RANK; }
        fixed = fixed << 20;
        PF_LOOK_AT_QUEUES
        decision.queue = 0;
        PF_EACH_BOUND(PF_TRY_BOUND)
        PF_EACH_QUEUE(PF_TAKE_ROOM)
        if (full) { decision.verdict = DROPPED_FULL; }
    }
}

#include "switch.p4"
