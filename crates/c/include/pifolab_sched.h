/* pifolab's packet schedulers, for C. docs/c.md has an introduction.
 *
 * Made by cbindgen from crates/c/src: do not edit it, run `make c-header`. */

#ifndef PIFOLAB_SCHED_H
#define PIFOLAB_SCHED_H

#include <stdint.h>
#include <stddef.h>

// The version of the interface that this header describes; pifolab_version() is that of the library.
#define PIFOLAB_VERSION_MAJOR 0

// Its second number.
#define PIFOLAB_VERSION_MINOR 1

// Its third number.
#define PIFOLAB_VERSION_PATCH 0

// The most packets of one call.
#define PIFOLAB_BURST 64

// Flows are dense indices below this number: their state is in arrays.
#define PIFOLAB_FLOWS (1 << 24)

// The largest rank, 2^63 - 1.
#define PIFOLAB_RANK_MAX (uint64_t)INT64_MAX

// The latest time, in picoseconds (106 days); pifolab_rebase restarts the clock.
#define PIFOLAB_TIME_MAX (uint64_t)INT64_MAX

// The status that a function returns.
typedef enum {
    // Done.
    PIFOLAB_OK = 0,
    // A pointer that must not be NULL is NULL.
    PIFOLAB_NULL_POINTER = 1,
    // A text is not UTF-8.
    PIFOLAB_NOT_UTF8 = 2,
    // No scheduler or rank function has this name.
    PIFOLAB_UNKNOWN_NAME = 3,
    // A parameter is unknown, missing, out of range, or has no effect.
    PIFOLAB_BAD_PARAMETER = 4,
    // The rank function needs facts about packets that this interface cannot pass.
    PIFOLAB_NEEDS_FACTS = 5,
    // More packets than PIFOLAB_BURST.
    PIFOLAB_TOO_MANY = 6,
    // A rank above PIFOLAB_RANK_MAX or a flow from PIFOLAB_FLOWS on. No packet of the call was offered.
    PIFOLAB_BAD_PACKET = 7,
    // The time is earlier than that of the call before, or above PIFOLAB_TIME_MAX. Nothing was done.
    PIFOLAB_BAD_TIME = 8,
    // There is no such queue.
    PIFOLAB_NO_QUEUE = 9,
    // A defect of pifolab: a call ended in the middle. The scheduler can only be freed.
    PIFOLAB_DEFECT = 10,
    // The scheduler holds packets, or packets that are still to be returned: dequeue them first.
    PIFOLAB_BUSY = 11,
    // There is no parameter of this number.
    PIFOLAB_NO_PARAMETER = 12,
    // The text names no source of ranks in frames.
    PIFOLAB_BAD_RANK = 13,
} pifolab_status;

// Why a packet is returned unsent.
typedef enum {
    // The admission test refused it, although there may have been room.
    PIFOLAB_ADMISSION = 0,
    // There was no room.
    PIFOLAB_FULL = 1,
    // It was held, and a packet of lower rank pushed it out.
    PIFOLAB_PUSHED_OUT = 2,
    // Its rank is outside the rank space of this scheduler.
    PIFOLAB_RANK_OUT_OF_RANGE = 3,
    // Queue management refused it, or dropped it at dequeue.
    PIFOLAB_AQM = 4,
} pifolab_reason;

// The kind of a frame.
typedef enum {
    // IP, with a rank.
    PIFOLAB_FRAME_IP = 0,
    // IP that carries no rank.
    PIFOLAB_FRAME_UNRANKED = 1,
    // Address resolution or neighbour discovery.
    PIFOLAB_FRAME_NEIGHBOUR = 2,
    // Everything else, including broken IP headers.
    PIFOLAB_FRAME_OTHER = 3,
} pifolab_frame;

// A reader of frames. One thread at a time may use it.
typedef struct pifolab_reader pifolab_reader;

// A scheduler. One thread at a time may use it; different schedulers are independent.
typedef struct pifolab_scheduler pifolab_scheduler;

// The descriptor of a packet. The packet itself stays with the caller.
typedef struct {
    // The caller's id for it: an index into a table, or an address. It is returned unchanged and not interpreted.
    uint64_t index;
    // Its rank; the smaller leaves first. A rank function overwrites it.
    uint64_t rank;
    // The flow it belongs to: a dense index from 0 on.
    uint32_t flow;
    // Its size in bytes, in buffers and on links.
    uint32_t size;
} pifolab_packet;

// A packet that the scheduler dropped: it belongs to the caller again, who may drop or mark it.
typedef struct {
    // The packet.
    pifolab_packet packet;
    // Why.
    pifolab_reason reason;
} pifolab_lost;

// A parameter of a scheduler or a rank function. The texts stay valid until the end of the process.
typedef struct {
    // Its key, such as "queues".
    const char *name;
    // Its valid values, such as "an integer from 1 to 1024 (queues)".
    const char *allowed;
    // Its value if it is absent, such as "default 1000".
    const char *absent;
    // Its description.
    const char *about;
} pifolab_parameter;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a scheduler.
//
// `scheduler` is its name, such as "packs"; `params` its parameters, such as "queues = 4, window = 20, k = 0.1" (NULL
// or "": all have their defaults). `pifolab show NAME` and docs/schedulers list them.
//
// `rank_function` gives every packet its rank, such as "stfq"; NULL: packets carry their ranks. `rank_params` are its
// parameters. Rank functions that need more than flow, size and time are not available: compute the rank yourself.
//
// Writes the scheduler to `made`, to be freed by pifolab_free; writes NULL on failure.
//
// Texts end in a zero byte; `made` may be written to.
pifolab_status pifolab_new(const char *scheduler,
                           const char *params,
                           const char *rank_function,
                           const char *rank_params,
                           pifolab_scheduler **made);

// Frees a scheduler. Packets that it still holds are lost: dequeue them first. NULL is allowed.
//
// `scheduler` comes from pifolab_new and is not used again.
void pifolab_free(pifolab_scheduler *scheduler);

// Offers `count` packets (at most PIFOLAB_BURST), in order, at the time `now_ps` in picoseconds, which never decreases.
//
// `queues`, if not NULL, has room for `count` numbers: the queue that holds each packet (queue 0 is served first), or
// -1 if it was refused.
//
// Every packet that the scheduler refuses or pushes out is written to `lost` (room for `lost_room`), their number to
// `lost_count`. If `lost` is full, the call ends early: `offered` is the number of packets that were offered, and the
// others still belong to the caller. With capacities in bytes a packet may push out several; the next call returns
// those without room. So every packet is sent or returned. `lost_room` must be at least 1; `count` is enough in
// practice.
//
// Arrays have the room that is stated; `scheduler` comes from pifolab_new and is used by one thread at a time.
pifolab_status pifolab_enqueue(pifolab_scheduler *scheduler,
                               const pifolab_packet *packets,
                               uint32_t count,
                               uint64_t now_ps,
                               int32_t *queues,
                               uint32_t *offered,
                               pifolab_lost *lost,
                               uint32_t lost_room,
                               uint32_t *lost_count);

// Takes up to `room` packets (at most PIFOLAB_BURST) in the order in which they leave, at the time `now_ps`.
//
// Writes them to `packets`, with the ranks of the rank function if there is one, and their number to `count`.
// `queues`, if not NULL, has room for `room` numbers: the queue that held each packet. Packets that the scheduler
// drops instead are written to `lost`, as in pifolab_enqueue.
//
// `not_before_ps`, if not NULL: 0, or the time before which none of the waiting packets may leave.
//
// As pifolab_enqueue.
pifolab_status pifolab_dequeue(pifolab_scheduler *scheduler,
                               pifolab_packet *packets,
                               uint32_t room_for,
                               uint64_t now_ps,
                               int32_t *queues,
                               uint32_t *count,
                               pifolab_lost *lost,
                               uint32_t lost_room,
                               uint32_t *lost_count,
                               uint64_t *not_before_ps);

// Restarts the clock: the next call may have any time from `now_ps` on, even before the time of the last call. This
// allows a node to run for longer than PIFOLAB_TIME_MAX.
//
// Most schedulers continue unchanged, with their packets, windows and flows. Those whose decisions depend on time
// (PIEO, FQ-CoDel, queue management; the rank functions pias, fdpa and token-bucket) must not hold a packet
// (PIFOLAB_BUSY) and restart: their state of flows is forgotten.
//
// `scheduler` comes from pifolab_new and is used by one thread at a time.
pifolab_status pifolab_rebase(pifolab_scheduler *scheduler,
                              uint64_t now_ps);

// The number of packets held; 0 for NULL. Packets that are still to be returned do not count.
//
// `scheduler` is NULL or comes from pifolab_new.
uint64_t pifolab_packets(const pifolab_scheduler *scheduler);

// The bytes held; 0 for NULL.
//
// `scheduler` is NULL or comes from pifolab_new.
uint64_t pifolab_bytes(const pifolab_scheduler *scheduler);

// The number of queues; 0 for NULL.
//
// `scheduler` is NULL or comes from pifolab_new.
uint32_t pifolab_queues(const pifolab_scheduler *scheduler);

// The packets and bytes of `queue` (0 is served first), and its bound: the smallest rank that it takes (SP-PIFO) or
// the largest (PACKS). `has_bound` is 0 if the algorithm has no bounds. Any output pointer may be NULL.
//
// `scheduler` comes from pifolab_new; output pointers may be written to.
pifolab_status pifolab_queue(const pifolab_scheduler *scheduler,
                             uint32_t queue,
                             uint64_t *packets,
                             int64_t *bound,
                             int32_t *has_bound);

// The capacity of the scheduler in packets or, if `in_bytes` is set to 1, in bytes. UINT64_MAX: no limit.
//
// `scheduler` comes from pifolab_new; `in_bytes` is NULL or may be written to.
uint64_t pifolab_capacity(const pifolab_scheduler *scheduler,
                          int32_t *in_bytes);

// Makes rank functions forget the state of `flow`, which has ended and whose number will be reused.
//
// `scheduler` comes from pifolab_new and is used by one thread at a time.
pifolab_status pifolab_forget_flow(pifolab_scheduler *scheduler, uint32_t flow);

// The message of the last failed call of this thread, in one line, valid until the next failed call. Empty if none has
// failed.
const char *pifolab_error(void);

// The names of all schedulers from 0 on; NULL after the last.
const char *pifolab_scheduler_name(uint32_t number);

// Writes parameter `number` (from 0 on) of a scheduler or a rank function called `component` to `parameter`; after the
// last one returns PIFOLAB_NO_PARAMETER. These are the parameters of pifolab_new, as `pifolab show` prints them.
//
// `component` ends in a zero byte; `parameter` may be written to.
pifolab_status pifolab_parameter_of(const char *component,
                                    uint32_t number,
                                    pifolab_parameter *parameter);

// The names of all available rank functions, from 0 on; NULL after the last.
const char *pifolab_rank_function_name(uint32_t number);

// The version of the library, such as "0.1.0".
const char *pifolab_version(void);

// Makes a reader of Ethernet frames.
//
// `rank` is the source of ranks: "dscp", "dscp:phb", "dscp:46=0,34=1", "payload:OFFSET:WIDTH", "vlan" or "mpls"; NULL:
// a rank function computes them. IP packets that carry none get `missing_rank`, frames that are not IP `not_ip_rank`.
//
// `flows` is the number of flows that are distinguished: 0 (all packets have flow 0), or from PIFOLAB_BURST to
// PIFOLAB_FLOWS. If all numbers are taken, a new flow gets the number of the flow that was silent longest. A flow that
// was silent for longer than `timeout_ps` (0: never) counts as new.
//
// Writes the reader to `made`, to be freed by pifolab_reader_free; writes NULL on failure.
//
// `rank` is NULL or ends in a zero byte; `made` may be written to.
pifolab_status pifolab_reader_new(const char *rank,
                                  uint64_t missing_rank,
                                  uint64_t not_ip_rank,
                                  uint32_t flows,
                                  uint64_t timeout_ps,
                                  pifolab_reader **made);

// Frees a reader. NULL is allowed.
//
// `reader` comes from pifolab_reader_new and is not used again.
void pifolab_reader_free(pifolab_reader *reader);

// Reads `count` frames (at most PIFOLAB_BURST) that arrive at the time `now_ps`: frame i has `lengths[i]` bytes from
// `frames[i]` on, the destination address first. Writes rank, flow and size of each to `packets`, and leaves the index
// as it is. `what`, if not NULL, has room for `count` values: the kind of each frame.
//
// `scheduler`, if not NULL, is the scheduler that gets these packets: its rank function forgets the flows that the
// reader forgets.
//
// Arrays have the room that is stated; `reader` comes from pifolab_reader_new, `scheduler` from pifolab_new, and both are used by one
// thread at a time.
pifolab_status pifolab_read(pifolab_reader *reader,
                            pifolab_scheduler *scheduler,
                            const uint8_t *const *frames,
                            const uint32_t *lengths,
                            uint32_t count,
                            uint64_t now_ps,
                            pifolab_packet *packets,
                            pifolab_frame *what);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PIFOLAB_SCHED_H */
