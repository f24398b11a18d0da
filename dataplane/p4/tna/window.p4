// SPDX-License-Identifier: Apache-2.0
// The sliding window of AIFO and PACKS on Tofino: a register per slot. Every packet asks each of them whether it holds a
// lower rank, and one in turn takes the packet's. The answers are added up in a tree.
#ifndef PF_WINDOW_P4
#define PF_WINDOW_P4

#define PF_SLOT(i) \
    Register<bit<32>, bit<1>>(1, 0) slot_##i; \
    RegisterAction<bit<32>, bit<1>, bit<8>>(slot_##i) ask_##i = { \
        void apply(inout bit<32> held, out bit<8> lower) { \
            if (held < meta.rank) { lower = 1; } else { lower = 0; } \
        } \
    }; \
    RegisterAction<bit<32>, bit<1>, bit<8>>(slot_##i) replace_##i = { \
        void apply(inout bit<32> held, out bit<8> lower) { \
            held = meta.rank; \
            lower = 0; \
        } \
    };
#define PF_ANSWER(i) bit<8> lower_##i = 0;
#define PF_ASK_SLOT(i) \
    if (turn == i) { \
        lower_##i = replace_##i.execute(0); \
    } else { \
        lower_##i = ask_##i.execute(0); \
    }
#define PF_ADD(a, b) lower_##a = lower_##a + lower_##b;

#define PF_WINDOW_REGISTERS \
    Register<bit<32>, bit<1>>(1, 0) next_slot; \
    RegisterAction<bit<32>, bit<1>, bit<32>>(next_slot) take_turn = { \
        void apply(inout bit<32> next, out bit<32> turn) { \
            turn = next; \
            if (next == PF_WINDOW - 1) { next = 0; } else { next = next + 1; } \
        } \
    }; \
    PF_EACH_SLOT(PF_SLOT)

#if PF_WINDOW == 16
#define PF_SUM \
    PF_ADD(0, 1) PF_ADD(2, 3) PF_ADD(4, 5) PF_ADD(6, 7) PF_ADD(8, 9) PF_ADD(10, 11) PF_ADD(12, 13) PF_ADD(14, 15) \
    PF_ADD(0, 2) PF_ADD(4, 6) PF_ADD(8, 10) PF_ADD(12, 14) PF_ADD(0, 4) PF_ADD(8, 12) PF_ADD(0, 8)
#elif PF_WINDOW == 8
#define PF_SUM \
    PF_ADD(0, 1) PF_ADD(2, 3) PF_ADD(4, 5) PF_ADD(6, 7) PF_ADD(0, 2) PF_ADD(4, 6) PF_ADD(0, 4)
#else
#define PF_SUM PF_ADD(0, 1) PF_ADD(2, 3) PF_ADD(0, 2)
#endif

// The number of lower ranks is in lower_0 afterwards.
#define PF_COUNT \
    bit<32> turn = take_turn.execute(0); \
    PF_EACH_SLOT(PF_ANSWER) \
    PF_EACH_SLOT(PF_ASK_SLOT) \
    PF_SUM

#endif
