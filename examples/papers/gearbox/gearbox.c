/* Gearbox (NSDI 2022): weighted fair queueing by rounds, in three levels of eight FIFOs.
 *
 * A FIFO of level 0 has one round, of level 1 eight, of level 2 64: its block. The further ahead a packet's departure
 * round, the higher its level. FIFO 4 of level 1 and of level 2 is a set of eight finer ones, by which flows step down.
 * Levels 0 and 1 have two sets, A and B: one is served, the other takes the next eight. README.md says what is ours.
 *
 *     cc -O2 -shared -fPIC -o gearbox.so gearbox.c
 */
#include "pifolab_loadable.h"

enum { G = 8, STEP_DOWN = 4, MAX_WEIGHTS = 64, NONE = -1 };
/* The first FIFO of each level: two sets, two, one; and of what FIFO 4 of levels 1 and 2 is divided into. */
enum { LEVEL_0 = 0, LEVEL_1 = 2 * G, LEVEL_2 = 4 * G, DOWN_1 = 5 * G, DOWN_2 = 7 * G, FIFOS = 8 * G };

typedef struct {
    uint64_t id;
    uint32_t flow;
    int32_t next;
} place;

typedef struct {
    int32_t first, last;
    uint64_t length;
} fifo;

/* `finish` is in bytes of weight 1, times 1000; `level` that of the flow's next packet, or a higher one. */
typedef struct {
    uint64_t finish, waiting;
    int level;
} flow;

typedef struct {
    place *places;
    int32_t free;
    fifo fifos[FIFOS];
    flow *flows;
    uint64_t known, waiting, round, quantum, weights[MAX_WEIGHTS];
    uint64_t left[3]; /* how many packets levels 1 and 2 may still send in this round */
} gearbox;

static void append(gearbox *g, int queue, uint64_t id, uint32_t of) {
    fifo *own = &g->fifos[queue];
    int32_t at = g->free;
    g->free = g->places[at].next;
    g->places[at] = (place){id, of, NONE};
    if (own->length++ == 0)
        own->first = at;
    else
        g->places[own->last].next = at;
    own->last = at;
}

/* The FIFO of a departure round, from level `*level` on; `*level` becomes that of the flow's next packet.
 *
 * No flow is reordered. Let q follow p in its flow while p waits; q's round is not smaller. One FIFO keeps them in
 * order, and a later block leaves later. A coarser FIFO than p's takes q only for distance. Its block then begins behind
 * p's: p was at most one block ahead when it came, q is more. If p is in a step-down FIFO four blocks ahead, the set
 * replaces FIFO 4 of the level, so q at that level has another, later block. A finer FIFO takes q only after p went into
 * a step-down FIFO. That is empty before finer FIFOs of its block send; that of level 2 is empty before the FIFO of level
 * 1 of its block sends. */
static int fifo_of(uint64_t now, uint64_t round, int *level) {
    uint64_t block = round / G, top = block / G;
    if (top - now / (G * G) > 1 || *level == 2) {
        *level = top % G == STEP_DOWN ? 1 : 2;
        return *level == 1 ? DOWN_2 + (int)(block % G) : LEVEL_2 + (int)(top % G);
    }
    if (block - now / G > 1 || *level == 1) {
        *level = block % G == STEP_DOWN ? 0 : 1;
        return *level == 0 ? DOWN_1 + (int)(top % 2 * G + round % G) : LEVEL_1 + (int)(block % (2 * G));
    }
    return LEVEL_0 + (int)(round % (2 * G));
}

static int32_t enqueue(void *self, const pifolab_item *packet, uint64_t now_ps) {
    gearbox *g = self;
    (void)now_ps;
    if (packet->flow >= g->known) {
        uint64_t more = 2 * (uint64_t)packet->flow + 16;
        flow *flows = realloc(g->flows, more * sizeof(flow));
        if (flows == NULL)
            return PIFOLAB_REFUSED;
        g->flows = flows;
        for (; g->known < more; g->known++)
            g->flows[g->known] = (flow){0, 0, 0};
    }
    flow *own = &g->flows[packet->flow];
    uint64_t weight = packet->flow < MAX_WEIGHTS ? g->weights[packet->flow] : 1;
    uint64_t now = 1000 * g->quantum * g->round;
    uint64_t finish = (own->finish > now ? own->finish : now) + 1000 * (uint64_t)packet->size / weight;
    uint64_t round = finish / (1000 * g->quantum);
    if (round / (G * G) - g->round / (G * G) >= G)
        return PIFOLAB_REFUSED;
    if (g->free == NONE)
        return PIFOLAB_REFUSED_FULL;
    int level = own->waiting > 0 ? own->level : 0;
    int queue = fifo_of(g->round, round, &level);
    append(g, queue, packet->id, packet->flow);
    *own = (flow){finish, own->waiting + 1, level};
    g->waiting++;
    return queue;
}

/* What the FIFO of an upper level may send in a round: as much as in each of the `left` rounds of its block. */
static uint64_t share(uint64_t length, uint64_t left) {
    return left == 1 ? UINT64_MAX : (length + left - 1) / left;
}

/* The FIFO that sends next in this round, the coarsest first; NONE if the round is over. */
static int next_fifo(gearbox *g) {
    uint64_t block = g->round / G, top = block / G;
    int down_2 = DOWN_2 + (int)(block % G), level_2 = LEVEL_2 + (int)(top % G);
    int down_1 = DOWN_1 + (int)(top % 2 * G + g->round % G), level_1 = LEVEL_1 + (int)(block % (2 * G));
    int level_0 = LEVEL_0 + (int)(g->round % (2 * G));
    if (top % G == STEP_DOWN && g->fifos[down_2].length > 0)
        return down_2;
    if (g->left[2] > 0 && g->fifos[level_2].length > 0)
        return g->left[2]--, level_2;
    if (block % G == STEP_DOWN && g->fifos[down_1].length > 0)
        return down_1;
    if (g->left[1] > 0 && g->fifos[level_1].length > 0)
        return g->left[1]--, level_1;
    return g->fifos[level_0].length > 0 ? level_0 : NONE;
}

static int32_t dequeue(void *self, uint64_t now_ps, uint64_t *value) {
    gearbox *g = self;
    int queue = NONE;
    (void)now_ps;
    if (g->waiting == 0)
        return PIFOLAB_EMPTY;
    while ((queue = next_fifo(g)) == NONE) {
        g->round++;
        uint64_t block = g->round / G;
        g->left[1] = share(g->fifos[LEVEL_1 + block % (2 * G)].length, G - g->round % G);
        g->left[2] = share(g->fifos[LEVEL_2 + block / G % G].length, G * G - g->round % (G * G));
    }
    fifo *from = &g->fifos[queue];
    int32_t at = from->first;
    *value = g->places[at].id;
    g->flows[g->places[at].flow].waiting--;
    from->first = g->places[at].next;
    from->length--;
    g->places[at].next = g->free;
    g->free = at;
    g->waiting--;
    return PIFOLAB_SEND;
}

static uint32_t queues(void *self) {
    (void)self;
    return FIFOS;
}

static void destroy(void *self) {
    gearbox *g = self;
    free(g->places);
    free(g->flows);
    free(g);
}

/* Reads the weights of flows 0, 1, ...; those that are not given are 1. Returns whether they are well written. */
static int read_weights(gearbox *g, const char *text) {
    for (int flow = 0; flow < MAX_WEIGHTS; flow++) {
        char *end = NULL;
        if (text == NULL || *text == '\0') {
            g->weights[flow] = 1;
            continue;
        }
        if (*text < '0' || *text > '9')
            return 0;
        g->weights[flow] = strtoull(text, &end, 10);
        if (g->weights[flow] < 1 || g->weights[flow] > 1000)
            return 0;
        text = end + (*end == ' ');
    }
    return text == NULL || *text == '\0';
}

static void *create(const pifolab_host *host) {
    gearbox *g = calloc(1, sizeof *g);
    if (g == NULL) {
        host->fail(host->context, "not enough memory");
        return NULL;
    }
    uint64_t capacity = 0;
    if (!pifolab_integer(host, "capacity_packets", 1, 1000000, &capacity) ||
        !pifolab_integer(host, "bytes_per_round", 1, 1000000, &g->quantum)) {
        destroy(g);
        return NULL;
    }
    const char *wrong = NULL;
    if (!read_weights(g, host->parameter(host->context, "weights")))
        wrong = "weights: expected up to 64 integers from 1 to 1000, those of flows 0, 1, ..., such as \"1 2 4\"";
    else if ((g->places = calloc(capacity, sizeof(place))) == NULL)
        wrong = "capacity_packets: not enough memory";
    if (wrong != NULL) {
        host->fail(host->context, wrong);
        destroy(g);
        return NULL;
    }
    for (uint64_t i = 0; i < capacity; i++)
        g->places[i].next = i + 1 < capacity ? (int32_t)(i + 1) : NONE;
    return g;
}

PIFOLAB_EXPORT_SCHEDULER("gearbox", 0)
