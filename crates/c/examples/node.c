/* A forwarding node in the shape that DPDK and VPP give it: bursts come from a ring of received packets, pass a scheduler, and
 * go to a ring of packets to send. The rings here are plain arrays; comments name the calls that stand there in a real node.
 *
 *     node [SCHEDULER [PARAMETERS [PACKETS]]]
 *
 * Packets stay where they are, in the pool: the scheduler sees an index and a rank.
 */
#define _POSIX_C_SOURCE 199309L
#include "pifolab_sched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BURST = 32, RING = 4096, POOL = 1 << 14 };

/* What stands for an rte_mbuf or a vlib_buffer_t: the packet's bytes, and what the classifier wrote about it. */
struct buffer {
    uint32_t length;
    uint32_t flow;
    uint64_t rank;
};

/* A ring of buffer indices with one producer and one consumer (DPDK: struct rte_ring). */
struct ring {
    uint32_t head, tail;
    uint32_t slots[RING];
};

static uint32_t ring_put(struct ring *ring, const uint32_t *from, uint32_t count)
{
    uint32_t done = 0;
    while (done < count && ring->head - ring->tail < RING)
        ring->slots[ring->head++ % RING] = from[done++];
    return done;
}

static uint32_t ring_take(struct ring *ring, uint32_t *to, uint32_t count)
{
    uint32_t done = 0;
    while (done < count && ring->tail != ring->head)
        to[done++] = ring->slots[ring->tail++ % RING];
    return done;
}

static struct buffer pool[POOL];
static uint32_t unused[POOL], unused_count;
static struct ring received, to_send;

static void give_back(uint32_t index) /* DPDK: rte_pktmbuf_free; VPP: vlib_buffer_free_one */
{
    unused[unused_count++] = index;
}

static void must(pifolab_status status)
{
    if (status != PIFOLAB_OK) {
        fprintf(stderr, "node: %s\n", pifolab_error());
        exit(2);
    }
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Hands back what the scheduler did not keep. */
static uint64_t drop(const pifolab_lost *lost, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        give_back((uint32_t)lost[i].packet.index);
    return count;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "sp-pifo", *params = argc > 2 ? argv[2] : "";
    uint64_t packets = argc > 3 ? strtoull(argv[3], NULL, 10) : 20000000;
    pifolab_scheduler *scheduler;
    uint64_t arrived = 0, sent = 0, dropped = 0, state = 1, spent = 0, now_ps = 0;
    must(pifolab_new(name, params, NULL, NULL, &scheduler));
    for (uint32_t i = 0; i < POOL; i++)
        give_back(i);

    while (sent + dropped < packets) {
        uint32_t indices[BURST], count, offered, lost_count;
        pifolab_packet descriptors[BURST];
        pifolab_lost lost[PIFOLAB_BURST];

        /* The wire: packets of 1500 bytes with random ranks. DPDK: rte_eth_rx_burst(port, queue, mbufs, BURST). */
        uint32_t arriving = packets - arrived < BURST ? (uint32_t)(packets - arrived) : BURST;
        for (count = 0; count < arriving && unused_count > 0; count++) {
            uint32_t index = unused[--unused_count];
            state = state * 6364136223846793005u + 1442695040888963407u;
            pool[index].length = 1500;
            pool[index].flow = (uint32_t)(state >> 54);
            pool[index].rank = (state >> 33) % 100;
            indices[count] = index;
        }
        arrived += ring_put(&received, indices, count);

        /* The node. VPP: node_fn(vlib_main_t *, vlib_node_runtime_t *, vlib_frame_t *). */
        uint64_t begun = nanoseconds();
        now_ps += 384000; /* BURST packets at 1 Tb/s; a real node takes rte_rdtsc() or clib_cpu_time_now() */
        count = ring_take(&received, indices, BURST); /* DPDK: rte_ring_dequeue_burst */
        for (uint32_t i = 0; i < count; i++) {
            const struct buffer *buffer = &pool[indices[i]];
            pifolab_packet one = {indices[i], buffer->rank, buffer->flow, buffer->length};
            descriptors[i] = one;
        }
        for (uint32_t done = 0; done < count; done += offered) {
            must(pifolab_enqueue(scheduler, descriptors + done, count - done, now_ps, NULL, &offered, lost,
                                 PIFOLAB_BURST, &lost_count));
            dropped += drop(lost, lost_count);
        }
        /* The link takes a burst less now and then, so that packets wait. */
        uint32_t room = arrived < packets && (arrived / BURST) % 10 == 9 ? 0 : BURST;
        must(pifolab_dequeue(scheduler, descriptors, room, now_ps, NULL, &count, lost, PIFOLAB_BURST,
                             &lost_count, NULL));
        dropped += drop(lost, lost_count);
        for (uint32_t i = 0; i < count; i++)
            indices[i] = (uint32_t)descriptors[i].index;
        ring_put(&to_send, indices, count); /* DPDK: rte_eth_tx_burst; VPP: vlib_put_frame_to_node */
        spent += nanoseconds() - begun;

        /* The wire again. */
        count = ring_take(&to_send, indices, BURST);
        for (uint32_t i = 0; i < count; i++)
            give_back(indices[i]);
        sent += count;
    }
    printf("%s: %" PRIu64 " packets in, %" PRIu64 " sent, %" PRIu64 " dropped; %.1f million packets/s in the node\n", name,
           arrived, sent, dropped, (double)arrived * 1000.0 / (double)spent);
    pifolab_free(scheduler);
    return sent + dropped == arrived && unused_count == POOL ? 0 : 1;
}
