/* The burst loop: frames from a queue of one device of DPDK through a scheduler to a queue of another, on one core.
 *
 * A frame is an mbuf, and the scheduler's index of it is its address. The counters of `struct node` account for every
 * mbuf: every received frame is sent, dropped, or held by the scheduler or in `staged`. */
#include "node.h"

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_mbuf_dyn.h>

#include <setjmp.h>
#include <signal.h>
#include <string.h>

enum { RECEIVE_RING = 1024, SEND_RING = 1024 };
/* Bytes of frames that are not IP which may have rank 0 at once. */
enum { MOST_CREDIT = 16384 };

/* When its peer dies, a thread of the memif driver unmaps the shared memory, possibly during the copy of a burst. The
 * node handles that fault and ends. */
static __thread sigjmp_buf before_burst;
static __thread volatile sig_atomic_t in_burst;

static void handle_fault(int number)
{
	if (in_burst)
		siglongjmp(before_burst, in_burst);
	signal(number, SIG_DFL);
	raise(number);
}

static struct rte_mbuf *frame_of(uint64_t index)
{
	return (struct rte_mbuf *)(uintptr_t)index;
}

static void add(struct tally *tally, uint64_t bytes)
{
	tally->packets++;
	tally->bytes += bytes;
}

/* Frees the frames that the scheduler returned. */
static void drop_lost(struct node *node, int leaving)
{
	for (uint32_t i = 0; i < node->lost_count; i++) {
		const pifolab_lost *lost = &node->lost[i];
		add(leaving ? &node->counters.dropped_at_dequeue : &node->counters.dropped[lost->reason], lost->packet.size);
		rte_pktmbuf_free(frame_of(lost->packet.index));
	}
}

/* A frame that is not IP has the rank that its share allows. */
static void keep_share(struct node *node, pifolab_packet *packet)
{
	const uint64_t cost = node->share == 0 ? 0 : (uint64_t)packet->size << 16, over = cost > node->credit;
	packet->rank = over ? node->rank_over_share : packet->rank;
	node->counters.over_share += over;
	node->credit -= over ? 0 : cost;
}

/* Reads, ranks and offers up to BURST frames that arrive at `now`. */
int node_offer(struct node *node, struct rte_mbuf **frames, uint32_t count, uint64_t now)
{
	const uint8_t *bytes[BURST];
	uint32_t lengths[BURST], offered;
	pifolab_frame what[BURST];
	uint64_t total = 0;
	if (count == 0)
		return GOES_ON;
	for (uint32_t i = 0; i < count; i++) {
		bytes[i] = rte_pktmbuf_mtod(frames[i], const uint8_t *);
		/* Loaded side by side, while the descriptors of the others are read. */
		rte_prefetch0(bytes[i]);
		lengths[i] = frames[i]->data_len;
		node->packets[i].index = (uintptr_t)frames[i];
	}
	node->now = now;
	if (pifolab_read(node->reader, node->scheduler, bytes, lengths, count, now, node->packets, what) != PIFOLAB_OK)
		return FAILED;
	for (uint32_t i = 0; i < count; i++) {
		/* Only the first segment of a frame is read. */
		node->packets[i].size = frames[i]->pkt_len;
		total += frames[i]->pkt_len;
		if (what[i] == PIFOLAB_FRAME_IP)
			continue;
		node->counters.unranked += what[i] == PIFOLAB_FRAME_UNRANKED;
		node->counters.neighbour += what[i] == PIFOLAB_FRAME_NEIGHBOUR;
		node->counters.not_ip += what[i] == PIFOLAB_FRAME_OTHER;
		if (what[i] != PIFOLAB_FRAME_UNRANKED)
			keep_share(node, &node->packets[i]);
	}
	node->counters.received.packets += count;
	node->counters.received.bytes += total;
	for (uint32_t done = 0; done < count; done += offered) {
		if (pifolab_enqueue(node->scheduler, node->packets + done, count - done, now, node->queues + done, &offered, node->lost,
				    PIFOLAB_BURST, &node->lost_count) != PIFOLAB_OK)
			return FAILED;
		drop_lost(node, 0);
	}
	node->not_before = 0;
	return GOES_ON;
}

/* Takes up to `room` frames from the scheduler at `now`: `count` of them are in `packets`. */
int node_take(struct node *node, uint32_t room, uint64_t now)
{
	int failed = pifolab_dequeue(node->scheduler, node->packets, room, now, node->queues, &node->count, node->lost, PIFOLAB_BURST,
				     &node->lost_count, &node->not_before) != PIFOLAB_OK;
	drop_lost(node, 1);
	for (uint32_t i = 0; i < node->count; i++)
		node->credit += node->packets[i].size * node->share;
	node->credit = RTE_MIN(node->credit, (uint64_t)MOST_CREDIT << 16);
	return failed ? FAILED : GOES_ON;
}

/* Passes the staged frames to the device, as far as it accepts them. */
static void flush(struct node *node)
{
	uint64_t left_bytes = 0;
	in_burst = OUT_IS_GONE;
	uint32_t done = rte_eth_tx_burst(node->out, node->queue, node->waiting, (uint16_t)node->staged);
	in_burst = 0;
	uint32_t left = node->staged - done;
	for (uint32_t i = 0; i < left; i++) {
		node->waiting[i] = node->waiting[done + i];
		left_bytes += node->waiting[i]->pkt_len;
	}
	node->counters.sent.packets += done;
	node->counters.sent.bytes += node->staged_bytes - left_bytes;
	node->counters.device_full += left > 0;
	node->staged = left;
	node->staged_bytes = left_bytes;
}

/* Occupies the link for `bytes` from `start` on, or from the end of what another node sends. */
static void occupy(struct node *node, uint64_t start, uint64_t bytes)
{
	const uint64_t time = (bytes * 8 * 1000000000000 + node->rate - 1) / node->rate;
	uint64_t seen = __atomic_load_n(node->free_at, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(node->free_at, &seen, RTE_MAX(seen, start) + time, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Starts every transmission that is due by `until`: a busy link starts the next frame at the end of the last, an idle
 * one at the frame's arrival. Without a rate, sends all that the device accepts. */
static int depart(struct node *node, uint64_t until)
{
	while (pifolab_packets(node->scheduler) > 0) {
		uint64_t free_at = RTE_MAX(__atomic_load_n(node->free_at, __ATOMIC_RELAXED), node->now);
		uint64_t start = node->rate ? RTE_MAX(free_at, node->not_before) : until;
		if (start > until || node->not_before > until)
			break;
		if (node->staged == BURST)
			flush(node);
		while (node->by_capture && node->staged == BURST && !__atomic_load_n(node->stop, __ATOMIC_RELAXED))
			flush(node);
		if (node->staged == BURST) {
			/* The link waits for the device and does not make up for the lost time. */
			if (node->rate)
				occupy(node, until, 0);
			break;
		}
		if (node_take(node, node->rate ? 1 : BURST - node->staged, start) != GOES_ON)
			return FAILED;
		for (uint32_t i = 0; i < node->count; i++) {
			node->waiting[node->staged++] = frame_of(node->packets[i].index);
			node->staged_bytes += node->packets[i].size;
		}
		if (node->count > 0 && node->rate)
			occupy(node, start, node->packets[0].size + node->overhead);
		if (node->count == 0 && node->lost_count == 0 && node->not_before == 0)
			break;
	}
	node->now = RTE_MAX(node->now, until);
	return GOES_ON;
}

/* Frames of a capture, each at its own time. */
static int replay(struct node *node, struct rte_mbuf **frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		/* Microseconds; from the first frame on. */
		uint64_t stamp = *RTE_MBUF_DYNFIELD(frames[i], node->stamp, rte_mbuf_timestamp_t *);
		if (node->counters.received.packets == 0)
			node->origin = stamp;
		uint64_t at = stamp < node->origin ? 0 : (stamp - node->origin) * 1000000;
		at = RTE_MAX(at, node->now);
		if (depart(node, at) != GOES_ON || node_offer(node, frames + i, 1, at) != GOES_ON)
			return FAILED;
	}
	return GOES_ON;
}

/* Carries frames for `microseconds`, or until a reason to end. */
static int run(struct node *node, uint64_t microseconds)
{
	const uint64_t hz = rte_get_tsc_hz(), end = rte_rdtsc() + hz / 1000000 * microseconds;
	/* Picoseconds per cycle, in 2^-32. */
	const unsigned __int128 scale = ((unsigned __int128)1000000000000 << 32) / hz;
	struct rte_mbuf *frames[BURST];
	int state = GOES_ON, gone = sigsetjmp(before_burst, 1);
	in_burst = 0;
	if (gone)
		return gone;
	signal(SIGSEGV, handle_fault);
	while (state == GOES_ON && !__atomic_load_n(node->stop, __ATOMIC_RELAXED)) {
		uint64_t tsc = rte_rdtsc();
		if (tsc >= end)
			break;
		uint64_t most = node->most - node->counters.received.packets;
		in_burst = IN_IS_GONE;
		uint32_t count = most == 0 ? 0 : rte_eth_rx_burst(node->in, node->queue, frames, (uint16_t)RTE_MIN(most, (uint64_t)BURST));
		in_burst = 0;
		if (node->by_capture) {
			state = replay(node, frames, count);
		} else {
			uint64_t now = (uint64_t)((scale * (tsc - node->origin)) >> 32);
			state = depart(node, now);
			if (state == GOES_ON && count > 0)
				state = node_offer(node, frames, count, now);
		}
		if (state == GOES_ON && most == 0) {
			if (node->by_capture)
				state = depart(node, PIFOLAB_TIME_MAX);
			if (state == GOES_ON && pifolab_packets(node->scheduler) == 0 && node->staged == 0)
				state = ALL_RECEIVED;
		}
		if (node->staged > 0)
			flush(node);
	}
	return state;
}

static int turn(void *context)
{
	struct node *node = context;
	node->state = run(node, node->turn);
	/* The text belongs to the thread, which lives as long as the process. */
	node->error = pifolab_error();
	return 0;
}

/* Carries frames for `microseconds` at most, each node on the lcore of its number. All nodes rest when it returns. */
void node_turn(struct node **nodes, uint32_t count, uint64_t microseconds)
{
	if (nodes[0]->origin == 0 && !nodes[0]->by_capture)
		nodes[0]->origin = rte_rdtsc();
	for (uint32_t i = count; i-- > 0;) {
		nodes[i]->origin = nodes[0]->origin;
		nodes[i]->turn = microseconds;
		if (i == 0)
			turn(nodes[0]);
		else if (rte_eal_remote_launch(turn, nodes[i], i) != 0)
			nodes[i]->state = FAILED, nodes[i]->error = "its lcore does not run";
	}
	rte_eal_mp_wait_lcore();
}

/* The error of DPDK's last call. */
const char *node_error(void)
{
	return rte_strerror(rte_errno);
}

const uint64_t node_size = sizeof(struct node);

struct rte_mempool *node_pool(uint32_t mbufs, uint16_t frame_bytes)
{
	return rte_pktmbuf_pool_create("pifolab", mbufs, RTE_MIN(mbufs / 4, 256u), 0, (uint16_t)(frame_bytes + RTE_PKTMBUF_HEADROOM),
				       SOCKET_ID_ANY);
}

/* A frame of these bytes, which an mbuf of the pool has room for; or NULL. */
struct rte_mbuf *node_frame(struct rte_mempool *pool, const uint8_t *bytes, uint32_t length)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);
	if (frame != NULL)
		memcpy(rte_pktmbuf_append(frame, (uint16_t)length), bytes, length);
	return frame;
}

const uint8_t *node_bytes(const struct rte_mbuf *frame)
{
	return rte_pktmbuf_mtod(frame, const uint8_t *);
}

/* The receive and transmit queues that a device can have. */
uint32_t node_queues(uint16_t port)
{
	struct rte_eth_dev_info info;
	return rte_eth_dev_info_get(port, &info) == 0 ? RTE_MIN(info.max_rx_queues, info.max_tx_queues) : 0;
}

/* Configures as many receive and transmit queues and starts the device; 0 or less: what DPDK says. 1: it is started, and
 * does not spread frames over its queues. */
int node_start(uint16_t port, uint16_t queues, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	uint16_t receive = RECEIVE_RING, send = SEND_RING;
	int said = rte_eth_dev_info_get(port, &info);
	if (said == 0 && queues > 1)
		conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
	if (conf.rx_adv_conf.rss_conf.rss_hf != 0)
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	said = said ?: rte_eth_dev_configure(port, queues, queues, &conf);
	said = said ?: rte_eth_dev_adjust_nb_rx_tx_desc(port, &receive, &send);
	for (uint16_t queue = 0; queue < queues; queue++) {
		said = said ?: rte_eth_rx_queue_setup(port, queue, receive, SOCKET_ID_ANY, NULL, pool);
		said = said ?: rte_eth_tx_queue_setup(port, queue, send, SOCKET_ID_ANY, NULL);
	}
	said = said ?: rte_eth_dev_start(port);
	/* Devices without addresses have no such mode. */
	if (said == 0)
		(void)rte_eth_promiscuous_enable(port);
	return said == 0 && queues > 1 && conf.rxmode.mq_mode != RTE_ETH_MQ_RX_RSS ? 1 : said;
}

int node_is_up(uint16_t port)
{
	struct rte_eth_link link;
	return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/* Frames that the device had no room for. */
uint64_t node_missed(uint16_t port)
{
	struct rte_eth_stats stats;
	return rte_eth_stats_get(port, &stats) == 0 ? stats.imissed + stats.rx_nombuf : 0;
}
