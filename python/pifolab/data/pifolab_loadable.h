/* A scheduler or a rank function that pifolab loads from a shared library.
 *
 * The library exports one function, pifolab_loadable, which returns a table. Packets stay with pifolab: a scheduler
 * gets the numbers of a packet and returns the ids of packets. Compile with
 *
 *     cc -O2 -shared -fPIC -o mine.so mine.c
 *
 * One thread at a time uses an instance, though not always the same one; several instances exist at once. So there are
 * no variables outside of an instance, no clock but now_ps, and no randomness but that of the host. */

#ifndef PIFOLAB_LOADABLE_H
#define PIFOLAB_LOADABLE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The version of this interface; pifolab refuses a library of another version. */
#define PIFOLAB_LOADABLE_VERSION 1

/* The kinds. */
#define PIFOLAB_SCHEDULER 0
#define PIFOLAB_RANK 1

/* What enqueue returns if the packet is refused; otherwise the number of the queue that holds it (0 leaves first). */
#define PIFOLAB_REFUSED (-1)      /* by a test of the algorithm, although there may be room */
#define PIFOLAB_REFUSED_FULL (-2) /* no room */
#define PIFOLAB_REFUSED_RANK (-3) /* its rank is out of range */
#define PIFOLAB_REFUSED_AQM (-4)  /* by queue management */

/* What dequeue returns. */
#define PIFOLAB_EMPTY 0 /* no packet waits */
#define PIFOLAB_SEND 1  /* the packet with the id that was written leaves */
#define PIFOLAB_DROP 2  /* the packet with the id that was written is dropped; dequeue is called again */
#define PIFOLAB_WAIT 3  /* packets wait, and none may leave before the time, in ps, that was written */

/* A packet. Facts that the scenario does not have are 0. Times are in picoseconds since the start of the run. */
typedef struct {
    uint64_t id;                        /* names it: unique among the packets held */
    uint64_t rank;                      /* the one it carries, or that a rank function gave it; smaller leaves first */
    uint64_t label;                     /* written at an earlier hop; 0 if none was */
    uint64_t arrival_ps;                /* at this port */
    uint64_t flow_size_bytes;           /* of its flow */
    uint64_t remaining_bytes;           /* of its flow, from the first byte of this packet on */
    uint64_t unacknowledged_bytes;      /* of its flow */
    uint64_t deadline_ps;               /* UINT64_MAX: none */
    uint64_t remaining_transmission_ps; /* of the rest of its path without queues */
    uint64_t delay_so_far_ps;           /* in the queues of earlier hops */
    uint32_t flow;                      /* a dense number from 0 on */
    uint32_t size;                      /* in bytes */
} pifolab_item;

/* What pifolab offers to an instance, as long as that lives. The first argument of each function is `context`. */
typedef struct {
    void *context;
    /* In create: the text of a parameter of the scenario; NULL if it is not given. A parameter that create does not
     * ask for is an error of the scenario. */
    const char *(*parameter)(void *context, const char *key);
    /* Ends the run with this line: "capacity = 0: expected from 1". In create: then return NULL. */
    void (*fail)(void *context, const char *why);
    /* 64 random bits from the stream of this port: the same for the same seed. */
    uint64_t (*random)(void *context);
    /* The label with which the packet of this call travels on: the one that enqueue keeps or dequeue sends, or that of
     * rank or on_dequeue. The next hop reads it. Needs reads_facts. */
    void (*set_label)(void *context, uint64_t label);
    /* In enqueue: packet `id`, which is held, is pushed out for the arriving one, which is then kept. */
    void (*push_out)(void *context, uint64_t id);
} pifolab_host;

/* The table. Functions that are not needed are NULL. */
typedef struct {
    uint32_t version;     /* PIFOLAB_LOADABLE_VERSION */
    uint32_t kind;        /* PIFOLAB_SCHEDULER or PIFOLAB_RANK */
    uint32_t reads_facts; /* 1: label and facts of packets are set, and labels may be written; 0: it is faster */
    const char *name;     /* small letters, digits and hyphens */
    void *(*create)(const pifolab_host *host);
    void (*destroy)(void *self);
    /* A scheduler. */
    uint32_t (*queues)(void *self); /* NULL: one */
    int32_t (*enqueue)(void *self, const pifolab_item *packet, uint64_t now_ps);
    int32_t (*dequeue)(void *self, uint64_t now_ps, uint64_t *value);
    /* A rank function: the rank, up to 2^63 - 1; then exactly one of the others. Facts are set for rank only. */
    uint64_t (*rank)(void *self, const pifolab_item *packet, uint64_t now_ps);
    void (*on_dequeue)(void *self, const pifolab_item *packet, uint64_t now_ps);
    void (*on_drop)(void *self, const pifolab_item *packet, uint64_t now_ps);
} pifolab_loadable_table;

#ifdef __cplusplus
extern "C" {
#endif

/* The function that the library exports. The table does not change. */
const pifolab_loadable_table *pifolab_loadable(void);

#ifdef __cplusplus
}
#endif

/* Exports a scheduler that has the functions create, destroy, queues, enqueue and dequeue in the same file. */
#define PIFOLAB_EXPORT_SCHEDULER(name, reads_facts)                                                                     \
    static const pifolab_loadable_table pifolab_table = {                                                               \
        PIFOLAB_LOADABLE_VERSION, PIFOLAB_SCHEDULER, reads_facts, name, create, destroy, queues, enqueue, dequeue,      \
        NULL, NULL, NULL};                                                                                              \
    const pifolab_loadable_table *pifolab_loadable(void) {                                                              \
        return &pifolab_table;                                                                                          \
    }

/* In create: reads a parameter that is an integer from `least` to `most` and returns 1; otherwise fails and returns 0. */
static inline int pifolab_integer(
    const pifolab_host *host, const char *key, uint64_t least, uint64_t most, uint64_t *value) {
    const char *text = host->parameter(host->context, key);
    char *end = NULL;
    char why[256];
    errno = 0;
    *value = text != NULL && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (end != NULL && *end == '\0' && errno == 0 && *value >= least && *value <= most)
        return 1;
    snprintf(
        why, sizeof why, "%.60s%s%.60s: expected an integer from %llu to %llu", key, text == NULL ? "" : " = ",
        text == NULL ? " is missing" : text, (unsigned long long)least, (unsigned long long)most);
    host->fail(host->context, why);
    return 0;
}

#endif
