// SPDX-License-Identifier: Apache-2.0
// The decision on Tofino and the occupancy of the queues. Every program includes this before its decision.
#ifndef PF_DEPTHS_P4
#define PF_DEPTHS_P4

#include "../common/headers.p4"

#if __TARGET_TOFINO__ == 2
#define RECIRCULATION_PORT 6
#else
#define RECIRCULATION_PORT 68
#endif

// Computes an intermediate value in its own stage, since a stage has one operation.
#define PF_STEP(name, statement) \
    action do_##name() { statement } \
    table name { \
        actions = { do_##name; } \
        const default_action = do_##name(); \
        size = 1; \
    }

struct decision_t {
    bit<5> queue;
    bit<3> drop;
    bit<3> resubmit;
}

// The header of recirculated packets: the queue, and the number of units that it held.
header depth_t {
    bit<16> queue;
    bit<16> units;
}

#ifdef PF_RESUBMITS
header resubmitted_t {
    bit<32> cost;
    bit<32> unused;
}
#endif

#define PF_DEPTH_REGISTER(q, capacity) Register<bit<16>, bit<1>>(1, 0) depth_of_##q;

#if __TARGET_TOFINO__ == 2
#ifdef PF_READS_DEPTHS
PF_EACH_QUEUE(PF_DEPTH_REGISTER)
#define PF_GHOST_ACTION(q, capacity) \
    RegisterAction<bit<16>, bit<1>, bit<16>>(depth_of_##q) write_##q = { \
        void apply(inout bit<16> depth) { depth = (bit<16>)ghost.qlength; } \
    };
#define PF_GHOST_WRITE(q, capacity) if (ghost.qid == q) { write_##q.execute(0); }
#else
#define PF_GHOST_ACTION(q, capacity)
#define PF_GHOST_WRITE(q, capacity)
#endif

control PfGhost(in ghost_intrinsic_metadata_t ghost) {
    PF_EACH_QUEUE(PF_GHOST_ACTION)
    apply {
        PF_EACH_QUEUE(PF_GHOST_WRITE)
    }
}
#define PF_OWN_DEPTH_REGISTER(q, capacity)
#define PF_SET_DEPTH(q, capacity)
#define PF_WRITE_DEPTH(q, capacity)
#else
#define PF_OWN_DEPTH_REGISTER(q, capacity) PF_DEPTH_REGISTER(q, capacity)
#define PF_SET_DEPTH(q, capacity) \
    RegisterAction<bit<16>, bit<1>, bit<16>>(depth_of_##q) set_##q = { \
        void apply(inout bit<16> depth) { depth = headers.depth.units; } \
    };
#define PF_WRITE_DEPTH(q, capacity) if (headers.depth.queue == q) { set_##q.execute(0); }
#endif

#define PF_GET_DEPTH(q, capacity) \
    RegisterAction<bit<16>, bit<1>, bit<16>>(depth_of_##q) get_##q = { \
        void apply(inout bit<16> depth, out bit<16> told) { told = depth; } \
    };

// The registers of all queues and their operations, for a control that has `headers`.
#define PF_DEPTHS \
    PF_EACH_QUEUE(PF_OWN_DEPTH_REGISTER) \
    PF_EACH_QUEUE(PF_SET_DEPTH) \
    PF_EACH_QUEUE(PF_GET_DEPTH)

#endif
