// SPDX-License-Identifier: Apache-2.0
// RIFO (Mostafaei, Pacut, Schmid, IEEE/ACM ToN 2025, section III and Algorithm 1; section V and Table I for the tables):
// one queue that admits a packet if its place in the range of recent ranks is below the free share.
//
// State as the paper counts it: three registers (Min, Max, counter). `pow2`, the form for switches, has three
// logarithms and two tables of 256 products. `alg1` and `eq3` multiply exactly.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/rifo.p4"
#endif
#include <core.p4>
#include <v1model.p4>
#include PF_PARAMETERS
#include "queues.p4"

// Min is stored inverted, so that the initial register value, zero, means that there is no lowest rank yet.
register<bit<64>>(1) inverted_min;
register<bit<64>>(1) max;
register<bit<64>>(1) counter_of_range;

// floor(log2 v); no entry for 0.
#define PF_LOG2_TABLE(name, value, result) \
    action set_##name(bit<8> exponent) { result = exponent; } \
    table name { \
        key = { value : ternary; } \
        actions = { set_##name; NoAction; } \
        const default_action = NoAction; \
        const entries = { PF_LOG2(set_##name) } \
    }
#define PF_PRODUCT_TABLE(name, a, b, result, products) \
    action set_##name(bit<32> value) { result = value; } \
    table name { \
        key = { a : exact; b : exact; } \
        actions = { set_##name; NoAction; } \
        const default_action = NoAction; \
        const entries = { products(set_##name) } \
    }

control Decide(in bit<64> rank, in bit<32> bytes, inout decision_t decision) {
    bit<64> above;
    bit<64> range;
    bit<64> free;
#if PF_MODE == PF_RIFO_POW2
    bit<8> log_above = 0;
    bit<8> log_range = 0;
    bit<8> log_free = 0;
    bit<4> exponent_above = 0;
    bit<4> exponent_range = 0;
    bit<4> exponent_free = 0;
    bit<32> left = 0;
    bit<32> right = 0;
    PF_LOG2_TABLE(log2_above, above, log_above)
    PF_LOG2_TABLE(log2_range, range, log_range)
    PF_LOG2_TABLE(log2_free, free, log_free)
    PF_PRODUCT_TABLE(left_product, PF_SHELTERED_EXPONENT, exponent_above, left, PF_LEFT_PRODUCTS)
    PF_PRODUCT_TABLE(right_product, exponent_range, exponent_free, right, PF_RIGHT_PRODUCTS)
#endif
    apply {
        bool full = false;
        bit<64> least;
        bit<64> most;
        bit<64> count;
        PF_LOOK_AT_QUEUES
        inverted_min.read(least, 0);
        least = ~least;
        max.read(most, 0);
        counter_of_range.read(count, 0);
        if (count == PF_TRACKING_RANGE) {
            least = rank;
            most = rank;
            count = PF_RESTART;
        } else {
            if (rank < least) { least = rank; }
            if (rank > most) { most = rank; }
            count = count + 1;
        }
        inverted_min.write(0, ~least);
        max.write(0, most);
        counter_of_range.write(0, count);

        above = rank - least;
        range = most - least;
        free = PF_TOTAL |-| used_0;
        if (range != 0) {
#if PF_MODE == PF_RIFO_POW2
            // Operands of more than 16 bits are shifted right together until the largest fits: what is shifted away is
            // subtracted from the exponents.
            log2_above.apply();
            log2_range.apply();
            log2_free.apply();
            bit<8> shift = log_range |-| 8w15;
            exponent_above = (bit<4>)(log_above - shift);
            exponent_range = (bit<4>)(log_range - shift);
            exponent_free = (bit<4>)(log_free - PF_CAPACITY_SHIFT);
            left_product.apply();
            right_product.apply();
            // A product with a factor 0 is 0.
            if (above != 0 && log_above >= shift) {
                if (free == 0 || log_free < PF_CAPACITY_SHIFT || left > right) {
                    decision.verdict = DROPPED_ADMISSION;
                }
            }
#elif PF_MODE == PF_RIFO_EQ3
            bit<192> weighed = PF_SHELTERED * (bit<192>)above;
            bit<192> threshold = (bit<192>)free * PF_DENOMINATOR;
            threshold = threshold * (bit<192>)range;
            if (weighed > threshold) { decision.verdict = DROPPED_ADMISSION; }
#else
            bit<192> weighed = (bit<192>)above * (bit<192>)PF_TOTAL;
            bit<192> threshold = (bit<192>)free * (bit<192>)range;
            if (used_0 > PF_GUARANTEED && weighed > threshold) { decision.verdict = DROPPED_ADMISSION; }
#endif
        }
        if (decision.verdict == ADMITTED) {
            PF_EACH_QUEUE(PF_CHECK_ROOM)
            if (full) { decision.verdict = DROPPED_FULL; }
        }
    }
}

#include "switch.p4"
