// SPDX-License-Identifier: Apache-2.0
// Exp-PIFO (Mostafaei, Ezzati, Cuijpers, Schmid, CoNEXT 2025, section 2.2 and Algorithm 1): strict-priority queues
// whose bounds grow exponentially up to the highest recent rank.
//
// State as the paper counts it: two registers (beta, counter) and two look-up tables: the logarithm, and the queue of
// each exponent and logarithm. With `mapping = bounds` the key of the second table is the rank instead.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/exp_pifo.p4"
#endif
#include <core.p4>
#include <v1model.p4>
#include PF_PARAMETERS
#include "queues.p4"

register<bit<8>>(1) highest_exponent;
register<bit<64>>(1) counter_of_window;

control Decide(in bit<64> rank, in bit<32> bytes, inout decision_t decision) {
    bit<8> beta;
    bit<8> x = 0;
    bit<8> exponent = 0;
    action set_x(bit<8> value) { x = value; }
    table logarithm {
        key = { rank : range; }
        actions = { set_x; NoAction; }
        const default_action = NoAction;
        const entries = { PF_LOGARITHM(set_x) }
    }
    // The exponent of a rank, rounded as the parameter `beta` says.
    action set_exponent(bit<8> value) { exponent = value; }
    table rounded_logarithm {
        key = { rank : range; }
        actions = { set_exponent; NoAction; }
        const default_action = NoAction;
        const entries = { PF_EXPONENT(set_exponent) }
    }
    action set_queue(bit<8> queue) { decision.queue = queue; }
    table queue_of {
        key = {
            beta : exact;
#if PF_BY_BOUNDS
            rank : range;
#else
            x : range;
#endif
        }
        actions = { set_queue; NoAction; }
        const default_action = NoAction;
        const entries = { PF_QUEUE_OF(set_queue) }
    }
    apply {
        bool full = false;
        bit<64> count;
        PF_LOOK_AT_QUEUES
#if PF_BY_BOUNDS == 0
        logarithm.apply();
#endif
        rounded_logarithm.apply();
        highest_exponent.read(beta, 0);
        counter_of_window.read(count, 0);
        if (exponent > beta) { beta = exponent; }
        count = count + 1;
        if (count >= PF_WINDOW_END) {
            count = 0;
            beta = exponent;
        }
        highest_exponent.write(0, beta);
        counter_of_window.write(0, count);
        queue_of.apply();
        PF_EACH_QUEUE(PF_CHECK_ROOM)
        if (full) { decision.verdict = DROPPED_FULL; }
    }
}

#include "switch.p4"
