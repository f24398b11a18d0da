// SPDX-License-Identifier: Apache-2.0
// Exp-PIFO (Mostafaei, Ezzati, Cuijpers, Schmid, CoNEXT 2025, section 2.2 and Algorithm 1) on Tofino.
//
// Two registers (beta, counter) and two tables: the logarithm, as prefixes, and the queue of each exponent and
// logarithm. The traffic manager drops packets without room.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/tofino/exp_pifo.p4"
#endif
#include "target.p4"
#include PF_PARAMETERS
#define PF_RANK_BITS 32
#include "depths.p4"
#include "types.p4"

control Decide(in headers_t headers, inout metadata_t meta, inout decision_t decision) {
    bit<8> x = 0;
    bit<8> beta = 0;
    bit<1> ends = 0;
    action set_x(bit<8> value) { x = value; }
    table logarithm {
        key = { meta.rank : ternary; }
        actions = { set_x; NoAction; }
        const default_action = NoAction;
        const entries = { PF_LOGARITHM(set_x) }
        size = 512;
    }
    action set_queue(bit<5> queue) { decision.queue = queue; }
    table queue_of {
        key = {
            beta : exact;
            x : exact;
        }
        actions = { set_queue; NoAction; }
        const default_action = NoAction;
        const entries = { PF_QUEUE_OF(set_queue) }
        size = 1024;
    }
    Register<bit<32>, bit<1>>(1, 0) counter_of_window;
    RegisterAction<bit<32>, bit<1>, bit<1>>(counter_of_window) count = {
        void apply(inout bit<32> packets, out bit<1> last) {
            if (packets == PF_WINDOW_LAST) {
                packets = 0;
                last = 1;
            } else {
                packets = packets + 1;
                last = 0;
            }
        }
    };
    Register<bit<8>, bit<1>>(1, 0) highest_exponent;
    RegisterAction<bit<8>, bit<1>, bit<8>>(highest_exponent) raise = {
        void apply(inout bit<8> held, out bit<8> now) {
            if (held < x) { held = x; }
            now = held;
        }
    };
    RegisterAction<bit<8>, bit<1>, bit<8>>(highest_exponent) restart = {
        void apply(inout bit<8> held, out bit<8> now) {
            held = x;
            now = held;
        }
    };
    apply {
        logarithm.apply();
        ends = count.execute(0);
        if (ends == 1) {
            beta = restart.execute(0);
        } else {
            beta = raise.execute(0);
        }
        queue_of.apply();
    }
}

#include "switch.p4"
