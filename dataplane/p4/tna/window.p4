// SPDX-License-Identifier: Apache-2.0
// The sliding window of AIFO and PACKS on Tofino: a register per slot. Every packet compares its rank with each of
// them, and one slot in turn takes the packet's rank. A table counts the results of eight slots.
#ifndef PF_WINDOW_P4
#define PF_WINDOW_P4

#define PF_SLOT(i) \
    Register<bit<32>, bit<1>>(1, 0) slot_##i; \
    RegisterAction<bit<32>, bit<1>, bit<1>>(slot_##i) ask_##i = { \
        void apply(inout bit<32> held, out bit<1> is_lower) { \
            if (held < meta.rank) { is_lower = 1; } else { is_lower = 0; } \
        } \
    }; \
    RegisterAction<bit<32>, bit<1>, bit<1>>(slot_##i) replace_##i = { \
        void apply(inout bit<32> held, out bit<1> is_lower) { \
            held = meta.rank; \
            is_lower = 0; \
        } \
    };
#define PF_ANSWER(i) bit<1> answer_##i = 0;
#define PF_ASK_SLOT(i) \
    if (turn == i) { \
        answer_##i = replace_##i.execute(0); \
    } else { \
        answer_##i = ask_##i.execute(0); \
    }

#define PF_KEY(i) answer_##i : exact;
#define PF_ONES_TABLE(name, each_slot, ones) \
    action set_##name(bit<8> number) { ones = number; } \
    table name { \
        key = { each_slot(PF_KEY) } \
        actions = { set_##name; NoAction; } \
        const default_action = NoAction; \
        const entries = { PF_ONES(set_##name) } \
        size = 256; \
    }

#if PF_WINDOW == 16
#define PF_EACH_OF_FIRST(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define PF_EACH_OF_LAST(M) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#define PF_ONES_TABLES \
    bit<8> more = 0; \
    PF_ONES_TABLE(ones_of_first, PF_EACH_OF_FIRST, lower) \
    PF_ONES_TABLE(ones_of_last, PF_EACH_OF_LAST, more) \
    PF_STEP(add_ones, lower = lower + more;)
#define PF_COUNT_ONES \
    ones_of_first.apply(); \
    ones_of_last.apply(); \
    add_ones.apply();
#else
#define PF_ONES_TABLES PF_ONES_TABLE(ones, PF_EACH_SLOT, lower)
#define PF_COUNT_ONES ones.apply();
#endif

#define PF_WINDOW_REGISTERS \
    PF_EACH_SLOT(PF_ANSWER) \
    bit<8> lower = 0; \
    Register<bit<32>, bit<1>>(1, 0) next_slot; \
    RegisterAction<bit<32>, bit<1>, bit<8>>(next_slot) take_turn = { \
        void apply(inout bit<32> next, out bit<8> turn) { \
            turn = (bit<8>)next; \
            if (next == PF_WINDOW - 1) { next = 0; } else { next = next + 1; } \
        } \
    }; \
    PF_EACH_SLOT(PF_SLOT) \
    PF_ONES_TABLES

// Writes the number of lower ranks to `lower`.
#define PF_COUNT \
    bit<8> turn = take_turn.execute(0); \
    PF_EACH_SLOT(PF_ASK_SLOT) \
    PF_COUNT_ONES

#endif
