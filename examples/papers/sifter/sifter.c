/* Sifter (NSDI 2024): a small exact PIFO in front of a calendar of FIFOs.
 *
 * A packet up to the sentinel enters the mini-PIFO, any other the FIFO of its bucket of ranks. Only the mini-PIFO sends.
 * When it holds at most Th_S packets, the earliest bucket is sifted: the sentinel becomes the bucket's largest rank, and
 * all its packets move, K after each departure. README.md says which rules are ours.
 *
 *     cc -O2 -shared -fPIC -o sifter.so sifter.c
 */
#include "pifolab_loadable.h"
#include <string.h>

typedef struct {
    uint64_t rank, id;
} packet;

/* A ring of S_F packets, all of one bucket. */
typedef struct {
    packet *ring;
    uint64_t first, length, bucket;
} fifo;

typedef struct {
    const pifolab_host *host;
    uint64_t s_p, th_s, k, fifos, s_f, width;
    packet *mini; /* the largest first; of equals that which came last */
    uint64_t held;
    fifo *calendar, *sifted;
    uint64_t left;   /* packets of the bucket that is being sifted */
    uint64_t border; /* the sentinel + 1 */
} sifter;

/* Inserts behind its equals. Returns whether the mini-PIFO was full, and then its largest, the new one included. */
static int insert(sifter *s, packet new, packet *largest) {
    int full = s->held == s->s_p;
    if (full) {
        *largest = new.rank < s->mini[0].rank ? s->mini[0] : new;
        if (largest->id == new.id)
            return 1;
        memmove(s->mini, s->mini + 1, --s->held * sizeof(packet));
    }
    uint64_t at = s->held++;
    for (; at > 0 && s->mini[at - 1].rank <= new.rank; at--)
        s->mini[at] = s->mini[at - 1];
    s->mini[at] = new;
    return full;
}

/* Appends to the FIFO of the packet's bucket. Returns its queue, or why it is refused. */
static int32_t append(sifter *s, packet new) {
    uint64_t bucket = new.rank / s->width, first = bucket, last = bucket;
    for (uint64_t i = 0; i < s->fifos; i++) {
        uint64_t other = s->calendar[i].length > 0 ? s->calendar[i].bucket : bucket;
        first = other < first ? other : first;
        last = other > last ? other : last;
    }
    fifo *own = &s->calendar[bucket % s->fifos];
    if (last - first >= s->fifos)
        return PIFOLAB_REFUSED_RANK;
    if (own->length == s->s_f)
        return PIFOLAB_REFUSED_FULL;
    own->bucket = bucket;
    own->ring[(own->first + own->length++) % s->s_f] = new;
    return 1 + (int32_t)(bucket % s->fifos);
}

/* The largest of a full mini-PIFO goes back to its bucket, and the sentinel falls below it. */
static int32_t place(sifter *s, packet new) {
    packet out = new;
    if (new.rank < s->border) {
        if (!insert(s, new, &out))
            return 0;
        s->border = out.rank;
    }
    int32_t queue = append(s, out);
    if (out.id == new.id)
        return queue;
    if (queue < 0)
        s->host->push_out(s->host->context, out.id);
    return 0;
}

static fifo *earliest(sifter *s) {
    fifo *found = NULL;
    for (fifo *one = s->calendar; one < s->calendar + s->fifos; one++)
        if (one->length > 0 && (found == NULL || one->bucket < found->bucket))
            found = one;
    return found;
}

static void sift(sifter *s, uint64_t moves) {
    for (; moves > 0 && s->left > 0; moves--, s->left--) {
        packet moved = s->sifted->ring[s->sifted->first];
        s->sifted->first = (s->sifted->first + 1) % s->s_f;
        s->sifted->length--;
        place(s, moved);
    }
    fifo *next = earliest(s);
    if (s->left == 0 && next == NULL) {
        s->border = UINT64_MAX;
    } else if (s->left == 0 && s->held <= s->th_s) {
        s->sifted = next;
        s->left = next->length;
        for (uint64_t i = 0; i < next->length; i++) {
            uint64_t above = next->ring[(next->first + i) % s->s_f].rank + 1;
            s->border = above > s->border ? above : s->border;
        }
    }
}

static int32_t enqueue(void *self, const pifolab_item *item, uint64_t now_ps) {
    sifter *s = self;
    (void)now_ps;
    return place(s, (packet){item->rank, item->id});
}

static int32_t dequeue(void *self, uint64_t now_ps, uint64_t *value) {
    sifter *s = self;
    (void)now_ps;
    while (s->held == 0 && earliest(s) != NULL)
        sift(s, 1);
    if (s->held == 0)
        return PIFOLAB_EMPTY;
    *value = s->mini[--s->held].id;
    sift(s, s->k);
    return PIFOLAB_SEND;
}

static uint32_t queues(void *self) {
    return 1 + (uint32_t)((sifter *)self)->fifos;
}

static void destroy(void *self) {
    sifter *s = self;
    for (uint64_t i = 0; s->calendar != NULL && i < s->fifos; i++)
        free(s->calendar[i].ring);
    free(s->calendar);
    free(s->mini);
    free(s);
}

static void *create(const pifolab_host *host) {
    sifter *s = calloc(1, sizeof *s);
    if (s == NULL) {
        host->fail(host->context, "not enough memory");
        return NULL;
    }
    s->host = host;
    s->border = UINT64_MAX;
    if (!pifolab_integer(host, "mini_pifo_packets", 1, 100000, &s->s_p) ||
        !pifolab_integer(host, "sift_threshold_packets", 1, 100000, &s->th_s) ||
        !pifolab_integer(host, "speed_up", 1, 1000, &s->k) || !pifolab_integer(host, "fifos", 1, 1000, &s->fifos) ||
        !pifolab_integer(host, "fifo_packets", 1, 100000, &s->s_f) ||
        !pifolab_integer(host, "ranks_per_fifo", 1, UINT64_MAX, &s->width)) {
        destroy(s);
        return NULL;
    }
    s->mini = calloc(s->s_p, sizeof(packet));
    s->calendar = calloc(s->fifos, sizeof(fifo));
    int is_whole = s->mini != NULL && s->calendar != NULL;
    for (uint64_t i = 0; is_whole && i < s->fifos; i++) {
        s->calendar[i].ring = calloc(s->s_f, sizeof(packet));
        is_whole = s->calendar[i].ring != NULL;
    }
    if (!is_whole) {
        host->fail(host->context, "mini_pifo_packets, fifos, fifo_packets: not enough memory");
        destroy(s);
        return NULL;
    }
    return s;
}

PIFOLAB_EXPORT_SCHEDULER("sifter", 0)
