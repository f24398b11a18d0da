/* What `make bench-dpdk` compares: a burst from one device through a candidate to another. Rust (dpdk.rs) has the same
 * `struct candidate` and `struct result`. */
#include "../src/node.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_red.h>
#include <rte_ring.h>
#include <rte_sched.h>

#include <string.h>
#include <time.h>

enum { FRAME = 60, RANK_AT = 42, BUFFER = 512, SUBPORT_QUEUE = 64 };
enum kind { FORWARD, RING, RED, SCHED, LIBRARY, NODE };

struct candidate {
	uint32_t kind;
	/* Of SCHED. */
	uint32_t pipes;
	/* Of LIBRARY. */
	pifolab_scheduler *scheduler;
	/* Of NODE. */
	struct node *node;
	/* Made by carry_begin. */
	struct rte_ring *ring;
	struct rte_sched_port *port;
	struct rte_red red;
	struct rte_red_config red_config;
	/* Frames that the last offer passes on. */
	uint32_t passed;
	/* Bursts, as times. */
	uint64_t turns;
};

const uint64_t carry_size = sizeof(struct candidate);

struct result {
	uint64_t received, sent;
	/* Of the clock on the wall, and of this thread. */
	uint64_t wall_ns, thread_ns;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The rank that the generator wrote behind the headers of UDP. */
static uint32_t rank_of(const struct rte_mbuf *frame)
{
	const uint8_t *bytes = rte_pktmbuf_mtod_offset(frame, const uint8_t *, RANK_AT);
	return (uint32_t)bytes[0] << 8 | bytes[1];
}

static struct rte_sched_port *sched_port(uint32_t pipes)
{
	const uint64_t rate = 12500000000;
	struct rte_sched_subport_profile_params profile = {.tb_rate = rate, .tb_size = 1000000, .tc_period = 10};
	struct rte_sched_pipe_params pipe = {.tb_rate = rate, .tb_size = 1000000, .tc_period = 10, .tc_ov_weight = 1,
					     .wrr_weights = {1, 1, 1, 1}};
	struct rte_sched_subport_params subport = {.n_pipes_per_subport_enabled = pipes, .pipe_profiles = &pipe,
						   .n_pipe_profiles = 1, .n_max_pipe_profiles = 1};
	struct rte_sched_port_params params = {.name = "bench", .rate = rate, .mtu = 1522,
					       .frame_overhead = RTE_SCHED_FRAME_OVERHEAD_DEFAULT,
					       .n_subports_per_port = 1, .subport_profiles = &profile, .n_subport_profiles = 1,
					       .n_max_subport_profiles = 1, .n_pipes_per_subport = pipes};
	for (int class = 0; class < RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE; class++) {
		profile.tc_rate[class] = pipe.tc_rate[class] = rate;
		subport.qsize[class] = SUBPORT_QUEUE;
	}
	struct rte_sched_port *port = rte_sched_port_config(&params);
	int failed = port == NULL || rte_sched_subport_config(port, 0, &subport, 0) != 0;
	for (uint32_t number = 0; !failed && number < pipes; number++)
		failed = rte_sched_pipe_config(port, 0, number, 0) != 0;
	return failed ? NULL : port;
}

/* Makes what DPDK's own candidates need; 0, or -1. */
int carry_begin(struct candidate *candidate)
{
	if (candidate->kind == RING || candidate->kind == RED) {
		candidate->ring = rte_ring_create("bench", BUFFER, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
		if (candidate->ring == NULL)
			return -1;
	}
	if (candidate->kind == RED) {
		rte_red_rt_data_init(&candidate->red);
		return rte_red_config_init(&candidate->red_config, 9, BUFFER / 4, BUFFER * 3 / 4, 10);
	}
	if (candidate->kind == SCHED && (candidate->port = sched_port(candidate->pipes)) == NULL)
		return -1;
	return 0;
}

static int library_offer(struct candidate *candidate, struct rte_mbuf **frames, uint32_t count)
{
	pifolab_packet packets[BURST];
	pifolab_lost lost[BURST];
	uint32_t offered, lost_count;
	for (uint32_t i = 0; i < count; i++) {
		packets[i].index = (uintptr_t)frames[i];
		packets[i].rank = rank_of(frames[i]);
		packets[i].flow = 0;
		packets[i].size = frames[i]->pkt_len;
	}
	for (uint32_t done = 0; done < count; done += offered) {
		if (pifolab_enqueue(candidate->scheduler, packets + done, count - done, candidate->turns, NULL, &offered, lost, BURST,
				    &lost_count) != PIFOLAB_OK)
			return -1;
		for (uint32_t i = 0; i < lost_count; i++)
			rte_pktmbuf_free((struct rte_mbuf *)(uintptr_t)lost[i].packet.index);
	}
	return 0;
}

static int offer(struct candidate *candidate, struct rte_mbuf **frames, uint32_t count)
{
	uint32_t kept = 0;
	candidate->turns++;
	switch (candidate->kind) {
	case LIBRARY:
		return library_offer(candidate, frames, count);
	case NODE:
		return node_offer(candidate->node, frames, count, candidate->turns * 1000);
	case FORWARD:
		candidate->passed = count;
		return 0;
	case SCHED:
		for (uint32_t i = 0; i < count; i++) {
			uint32_t rank = rank_of(frames[i]), class = rank % RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE;
			uint32_t pipe = rte_pktmbuf_mtod_offset(frames[i], const uint16_t *, RANK_AT + 2)[0] & (candidate->pipes - 1);
			rte_sched_port_pkt_write(candidate->port, frames[i], 0, pipe, class,
						 class == RTE_SCHED_TRAFFIC_CLASS_BE ? rank & 3 : 0, RTE_COLOR_GREEN);
		}
		rte_sched_port_enqueue(candidate->port, frames, count);
		return 0;
	case RED:
		for (uint32_t i = 0; i < count; i++) {
			if (rte_red_enqueue(&candidate->red_config, &candidate->red, rte_ring_count(candidate->ring) + kept, rte_rdtsc()))
				rte_pktmbuf_free(frames[i]);
			else
				frames[kept++] = frames[i];
		}
		count = kept;
		/* fall through */
	default:
		kept = rte_ring_enqueue_burst(candidate->ring, (void **)frames, count, NULL);
		rte_pktmbuf_free_bulk(frames + kept, count - kept);
		return 0;
	}
}

/* Takes up to `room` frames; negative if the library fails. */
static int take(struct candidate *candidate, struct rte_mbuf **frames, uint32_t room)
{
	uint32_t count, lost_count;
	pifolab_packet packets[BURST];
	pifolab_lost lost[BURST];
	switch (candidate->kind) {
	case FORWARD:
		count = candidate->passed;
		candidate->passed = 0;
		return (int)count;
	case SCHED:
		return rte_sched_port_dequeue(candidate->port, frames, room);
	case LIBRARY:
		if (pifolab_dequeue(candidate->scheduler, packets, room, candidate->turns, NULL, &count, lost, BURST, &lost_count, NULL) !=
		    PIFOLAB_OK)
			return -1;
		for (uint32_t i = 0; i < count; i++)
			frames[i] = (struct rte_mbuf *)(uintptr_t)packets[i].index;
		return (int)count;
	case NODE:
		if (node_take(candidate->node, room, candidate->turns * 1000) != GOES_ON)
			return -1;
		for (uint32_t i = 0; i < candidate->node->count; i++)
			frames[i] = (struct rte_mbuf *)(uintptr_t)candidate->node->packets[i].index;
		return (int)candidate->node->count;
	default:
		return (int)rte_ring_dequeue_burst(candidate->ring, (void **)frames, room, NULL);
	}
}

/* Carries frames from `in` to `out` for `microseconds`. Of ten frames that arrive nine may leave, so that the buffer is
 * full; 0, or -1 if the library fails. */
int carry(struct candidate *candidate, uint16_t in, uint16_t out, uint64_t microseconds, struct result *result)
{
	const uint64_t end = rte_rdtsc() + rte_get_tsc_hz() / 1000000 * microseconds;
	const uint64_t wall = clock_ns(CLOCK_MONOTONIC), thread = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct rte_mbuf *frames[BURST];
	uint32_t credit = 0;
	while (rte_rdtsc() < end) {
		uint16_t count = rte_eth_rx_burst(in, 0, frames, BURST);
		if (count > 0 && offer(candidate, frames, count) != 0)
			return -1;
		result->received += count;
		credit += 9 * count;
		uint32_t room = candidate->kind == FORWARD ? count : credit / 10;
		credit %= 10;
		int taken = room == 0 ? 0 : take(candidate, frames, room);
		if (taken < 0)
			return -1;
		uint16_t sent = rte_eth_tx_burst(out, 0, frames, (uint16_t)taken);
		result->sent += sent;
		if (sent < taken)
			rte_pktmbuf_free_bulk(frames + sent, (uint32_t)taken - sent);
	}
	result->wall_ns += clock_ns(CLOCK_MONOTONIC) - wall;
	result->thread_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - thread;
	return 0;
}

/* Frees the frames that wait, and what carry_begin made. */
void carry_end(struct candidate *candidate)
{
	struct rte_mbuf *frames[BURST];
	int count;
	while ((count = take(candidate, frames, BURST)) > 0)
		rte_pktmbuf_free_bulk(frames, (uint32_t)count);
	rte_sched_port_free(candidate->port);
	rte_ring_free(candidate->ring);
}

struct fill {
	const uint8_t *header;
	uint64_t state;
};

static void fill_one(struct rte_mempool *pool, void *context, void *object, unsigned number)
{
	struct fill *fill = context;
	uint8_t *bytes = (uint8_t *)((struct rte_mbuf *)object)->buf_addr + RTE_PKTMBUF_HEADROOM;
	(void)pool;
	(void)number;
	fill->state = fill->state * 6364136223846793005u + 1442695040888963407u;
	uint32_t rank = (uint32_t)(fill->state >> 33) % 100;
	memcpy(bytes, fill->header, FRAME);
	bytes[RANK_AT] = (uint8_t)(rank >> 8);
	bytes[RANK_AT + 1] = (uint8_t)rank;
	memcpy(bytes + RANK_AT + 2, (uint8_t *)&fill->state + 4, 2);
}

/* Writes a frame of 60 bytes with a drawn rank from 0 to 99 to every mbuf of a pool. Devices that copy nothing receive it. */
void carry_fill(struct rte_mempool *pool, const uint8_t *header)
{
	struct fill fill = {header, 1};
	rte_mempool_obj_iter(pool, fill_one, &fill);
}

/* Sends frames of `pool` to `out` as fast as it takes them, and frees what `in` receives; never returns. */
void carry_generate(struct rte_mempool *pool, uint16_t in, uint16_t out)
{
	struct rte_mbuf *frames[BURST];
	for (;;) {
		if (rte_pktmbuf_alloc_bulk(pool, frames, BURST) == 0) {
			for (uint32_t i = 0; i < BURST; i++)
				frames[i]->data_len = FRAME, frames[i]->pkt_len = FRAME;
			uint16_t sent = rte_eth_tx_burst(out, 0, frames, BURST);
			rte_pktmbuf_free_bulk(frames + sent, BURST - sent);
		}
		uint16_t count = rte_eth_rx_burst(in, 0, frames, BURST);
		rte_pktmbuf_free_bulk(frames, count);
	}
}
