// SPDX-License-Identifier: Apache-2.0
// The decision, and the occupancy of each queue when a packet arrives.
//
// BMv2 has the depth of a queue only in egress, and only of the packet's own queue. So ingress counts what it sends
// into each queue (`entered`), and egress writes the count at the packet that leaves (`departed`). Queues are first-in
// first-out, so all earlier packets have left or were lost. The difference is the occupancy; a packet that the traffic
// manager drops counts until the next one of its queue leaves.
//
// PF_OCCUPANCY_GHOST uses the value of a ghost thread or a recirculated packet instead: the depth of each queue when a
// packet last left it, in packets, which is stale until the next one leaves.
#ifndef PF_QUEUES_P4
#define PF_QUEUES_P4

#include "../common/headers.p4"

#define ADMITTED 8w0
#define DROPPED_ADMISSION 8w1
#define DROPPED_FULL 8w2

struct decision_t {
    bit<8> queue;
    bit<8> verdict;
}

register<bit<64>>(PF_QUEUES) entered;
register<bit<64>>(PF_QUEUES) departed;

#ifdef PF_OCCUPANCY_GHOST
#if PF_IN_BYTES
#error "PF_OCCUPANCY_GHOST: BMv2 tells depths in packets; expected capacities in packets"
#endif
#define PF_READ_USED(q, capacity) departed.read(used_##q, 32w##q);
#else
#define PF_READ_USED(q, capacity) \
    entered.read(used_##q, 32w##q); \
    departed.read(departed_units, 32w##q); \
    used_##q = used_##q - departed_units;
#endif
#define PF_DECLARE_USED(q, capacity) bit<64> used_##q = 0;

// The cost of a packet in the unit of the capacity.
#if PF_IN_BYTES
#define PF_UNITS(bytes) ((bit<64>)(bytes))
#else
#define PF_UNITS(bytes) (64w1)
#endif

// Whether the queue `decision.queue` has room; `full` if not.
#define PF_CHECK_ROOM(q, capacity) \
    if (decision.queue == 8w##q && used_##q + PF_UNITS(bytes) > capacity) { full = true; }

// The start of every decision.
#define PF_LOOK_AT_QUEUES \
    bit<64> departed_units = 0; \
    PF_EACH_QUEUE(PF_DECLARE_USED) \
    PF_EACH_QUEUE(PF_READ_USED)

#endif
