// SPDX-License-Identifier: Apache-2.0
// AIFO (Yu et al., SIGCOMM 2021, section 4.2 and Algorithm 1): one queue behind a test that admits the packets that
// PIFO would send.
//
// State as the paper counts it: one register per window slot, and a sampling counter. The test
//   count / held <= (C - c) / C / (1 - k)
// is multiplied out to integers.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/aifo.p4"
#endif
#include <core.p4>
#include <v1model.p4>
#include PF_PARAMETERS
#include "queues.p4"
#include "window.p4"

register<bit<64>>(1) unsampled;

control Observe(in bit<64> rank) {
    Push() push;
    apply {
        bit<64> left;
        unsampled.read(left, 0);
        if (left == 0) {
            push.apply(rank);
            left = PF_SAMPLE;
        }
        unsampled.write(0, left - 1);
    }
}

control Decide(in bit<64> rank, in bit<32> bytes, inout decision_t decision) {
    Observe() observe;
    Count() count;
    apply {
        bool full = false;
        bit<192> lower;
        bit<192> held;
        PF_LOOK_AT_QUEUES
#if PF_UPDATE_AFTER == 0
        observe.apply(rank);
#endif
        count.apply(rank, lower, held);
        if (used_0 > PF_HEADROOM) {
            // Beyond the target the threshold is negative.
            if (used_0 > PF_TARGET) {
                decision.verdict = DROPPED_ADMISSION;
            } else {
                bit<192> product = lower * PF_WEIGHT;
                bit<192> threshold = (bit<192>)(PF_TARGET - used_0) * held;
                threshold = threshold * PF_SCALE;
#if PF_STRICT
                if (product >= threshold) { decision.verdict = DROPPED_ADMISSION; }
#else
                if (product > threshold) { decision.verdict = DROPPED_ADMISSION; }
#endif
            }
        }
#if PF_UPDATE_AFTER
        observe.apply(rank);
#endif
        if (decision.verdict == ADMITTED) {
            PF_EACH_QUEUE(PF_CHECK_ROOM)
            if (full) { decision.verdict = DROPPED_FULL; }
        }
    }
}

#include "switch.p4"
