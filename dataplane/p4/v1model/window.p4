// SPDX-License-Identifier: Apache-2.0
// The sliding window of AIFO and PACKS: one register per slot, and a position that wraps around.
//
// A slot has a bit above its 64-bit rank that is set once it is written. Before that its value is the initial one:
// above every rank, unless a start window is given.
#ifndef PF_WINDOW_P4
#define PF_WINDOW_P4

#define NO_RANK 65w0x8000000000000000

register<bit<65>>(PF_WINDOW) slots;
// Offsets to the initial number of ranks and to the initial position.
register<bit<32>>(1) held_more;
register<bit<32>>(1) next_beyond;

control Push(in bit<64> rank) {
    apply {
        bit<32> more;
        bit<32> beyond;
        held_more.read(more, 0);
        if (more + PF_HELD_AT_START < PF_WINDOW) { held_more.write(0, more + 1); }
        next_beyond.read(beyond, 0);
        bit<32> next = beyond + PF_NEXT_AT_START;
        if (next >= PF_WINDOW) { next = next - PF_WINDOW; }
        slots.write(next, 1w1 ++ rank);
        beyond = beyond + 1;
        if (beyond == PF_WINDOW) { beyond = 0; }
        next_beyond.write(0, beyond);
    }
}

#ifndef PF_SHIFT_HELD
#define PF_SHIFT_HELD 66w0
#define PF_SHIFT_RANK 66w0
#endif

#define PF_COUNT_SLOT(i, start) \
    slots.read(slot, 32w##i); \
    if (slot[64:64] == 0) { slot = start; } \
    slot[64:64] = 0; \
    if ((bit<66>)slot + PF_SHIFT_HELD < limit) { lower = lower + 1; }

// The number of shifted ranks of the window that are lower than `rank` (or lower or equal), and the number that it
// holds; an empty window gives 0 of 1.
control Count(in bit<64> rank, out bit<192> lower, out bit<192> held) {
    apply {
        bit<32> more;
        bit<65> slot;
        held_more.read(more, 0);
        held = (bit<192>)(more + PF_HELD_AT_START);
        if (held == 0) { held = 1; }
        lower = 0;
        bit<66> limit = (bit<66>)rank + PF_LOWER_OR_EQUAL + PF_SHIFT_RANK;
        if (limit > (bit<66>)NO_RANK) { limit = (bit<66>)NO_RANK; }
        PF_EACH_SLOT(PF_COUNT_SLOT)
    }
}

#endif
