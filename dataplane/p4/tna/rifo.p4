// SPDX-License-Identifier: Apache-2.0
// RIFO (Mostafaei, Pacut, Schmid, IEEE/ACM ToN 2025, section III and Algorithm 1; section V and Table I) on Tofino,
// with ranks of 16 bits like its operands.
//
// Three registers (Min, Max, counter), three tables of logarithms and two of products. Min is stored inverted, so that
// the initial register value, zero, means that there is no lowest rank yet.
#ifndef PF_PARAMETERS
#define PF_PARAMETERS "../parameters/tofino/rifo.p4"
#endif
#define PF_RANK_BYTES 2
#include "target.p4"
#include PF_PARAMETERS
#define PF_RANK_BITS 16
#define PF_ADDS_RANKS
#define PF_READS_DEPTHS
#include "depths.p4"
#include "types.p4"

#define PF_LOG2_TABLE(name, value, result) \
    action set_##name(bit<4> exponent) { result = exponent; } \
    table name { \
        key = { value : ternary; } \
        actions = { set_##name; NoAction; } \
        const default_action = NoAction; \
        const entries = { PF_LOG2(set_##name) } \
        size = 16; \
    }
#define PF_PRODUCT_TABLE(name, a, b, result, products) \
    action set_##name(bit<32> value) { result = value; } \
    table name { \
        key = { a : exact; b : exact; } \
        actions = { set_##name; NoAction; } \
        const default_action = NoAction; \
        const entries = { products(set_##name) } \
        size = 256; \
    }

control Decide(in headers_t headers, inout metadata_t meta, inout decision_t decision) {
    PF_DEPTHS
    bit<16> above = 0;
    bit<16> range = 0;
    bit<16> free = 0;
    bit<4> exponent_sheltered = PF_SHELTERED_EXPONENT;
    bit<4> exponent_above = 0;
    bit<4> exponent_range = 0;
    bit<4> exponent_free = 0;
    bit<32> left = 0;
    bit<32> right = 0;
    bit<1> reset = 0;
    bit<32> beyond = 0;
    PF_LOG2_TABLE(log2_above, above, exponent_above)
    PF_LOG2_TABLE(log2_range, range, exponent_range)
    PF_LOG2_TABLE(log2_free, free, exponent_free)
    PF_PRODUCT_TABLE(left_product, exponent_sheltered, exponent_above, left, PF_LEFT_PRODUCTS)
    PF_PRODUCT_TABLE(right_product, exponent_range, exponent_free, right, PF_RIGHT_PRODUCTS)

    Register<bit<32>, bit<1>>(1, 0) counter_of_range;
    RegisterAction<bit<32>, bit<1>, bit<1>>(counter_of_range) count = {
        void apply(inout bit<32> packets, out bit<1> ends) {
            if (packets == PF_TRACKING_RANGE) {
                packets = 1;
                ends = 1;
            } else {
                packets = packets + 1;
                ends = 0;
            }
        }
    };
    // A stateful ALU cannot compare with a complement, so it is computed before and after.
    bit<16> inverted = 0;
    Register<bit<16>, bit<1>>(1, 0) inverted_min;
    RegisterAction<bit<16>, bit<1>, bit<16>>(inverted_min) lower_min = {
        void apply(inout bit<16> held, out bit<16> now) {
            if (held < inverted) { held = inverted; }
            now = held;
        }
    };
    RegisterAction<bit<16>, bit<1>, bit<16>>(inverted_min) restart_min = {
        void apply(inout bit<16> held, out bit<16> now) {
            held = inverted;
            now = held;
        }
    };
    Register<bit<16>, bit<1>>(1, 0) max;
    RegisterAction<bit<16>, bit<1>, bit<16>>(max) raise_max = {
        void apply(inout bit<16> held, out bit<16> now) {
            if (held < meta.rank) { held = meta.rank; }
            now = held;
        }
    };
    RegisterAction<bit<16>, bit<1>, bit<16>>(max) restart_max = {
        void apply(inout bit<16> held, out bit<16> now) {
            held = meta.rank;
            now = held;
        }
    };

    bit<16> depth = 0;
    bit<16> inverted_least = 0;
    bit<16> most = 0;
    PF_STEP(invert, inverted = ~meta.rank;)
    PF_STEP(compute_free, free = PF_TOTAL |-| depth;)
    // rank - least and most - least, with an inverted least.
    PF_STEP(compute_above, above = inverted_least - inverted; range = most + inverted_least;)
    PF_STEP(complete_range, range = range + 1;)
    PF_STEP(compute_beyond, beyond = left |-| right;)
    apply {
        if (headers.depth.isValid()) {
            PF_EACH_QUEUE(PF_WRITE_DEPTH)
        } else {
            depth = get_0.execute(0);
            compute_free.apply();
            invert.apply();
            reset = count.execute(0);
            if (reset == 1) {
                inverted_least = restart_min.execute(0);
                most = restart_max.execute(0);
            } else {
                inverted_least = lower_min.execute(0);
                most = raise_max.execute(0);
            }
            compute_above.apply();
            complete_range.apply();
            log2_above.apply();
            log2_range.apply();
            log2_free.apply();
            left_product.apply();
            right_product.apply();
            compute_beyond.apply();
            decision.queue = 0;
            // A product with a factor 0 is 0.
            if (above != 0) {
                if (beyond != 0) {
                    decision.drop = 1;
                } else if (free == 0) {
                    decision.drop = 1;
                }
            }
        }
    }
}

#include "switch.p4"
