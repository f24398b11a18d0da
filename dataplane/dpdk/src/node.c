/* The burst loop: frames from one device of DPDK through a scheduler to another, on one core and one queue of each.
 *
 * A frame is an mbuf, and the scheduler's index of it is its address. The counters of `struct node` account for every
 * mbuf: every received frame is sent, dropped, or held by the scheduler or in `staged`. Rust (node.rs) has the same two
 * structs. */
#include <pifolab_sched.h>

#include <pcap/pcap.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <setjmp.h>
#include <signal.h>
#include <string.h>

enum { BURST = 32, RECEIVE_RING = 1024, SEND_RING = 1024 };
/* The states in which node_run returns. */
enum { GOES_ON = 0, ALL_RECEIVED = 1, FAILED = 2, IN_IS_GONE = 3, OUT_IS_GONE = 4 };

/* When its peer dies, a thread of the memif driver unmaps the shared memory, possibly during the copy of a burst. The
 * node handles that fault and ends. */
static sigjmp_buf before_burst;
static __thread volatile sig_atomic_t in_burst;

static void handle_fault(int number)
{
	if (in_burst)
		siglongjmp(before_burst, in_burst);
	signal(number, SIG_DFL);
	raise(number);
}

struct tally {
	uint64_t packets, bytes;
};

struct counters {
	struct tally received, sent, admitted;
	/* By pifolab_reason; the third counts frames that were admitted before. */
	struct tally dropped[5];
	/* Queue management dropped it at dequeue. */
	struct tally dropped_at_dequeue;
	struct tally lost_at_change;
	/* Held when the node ended. */
	struct tally held_at_end;
	uint64_t unranked, neighbour, not_ip, device_full;
};

struct node {
	pifolab_scheduler *scheduler;
	pifolab_reader *reader;
	/* Ports of DPDK. */
	uint16_t in, out;
	/* Whether times are those of the capture that `in` replays. */
	uint8_t by_capture;
	/* Bits per second; 0: as fast as `out` takes frames. */
	uint64_t rate;
	/* Bytes that each frame takes on the link beyond its own. */
	uint64_t overhead;
	/* Frames to receive; UINT64_MAX: without end. */
	uint64_t most;
	/* Set by a signal. */
	const uint8_t *stop;
	struct counters counters;

	/* Picoseconds: of the last arrival or poll, when the link is free, and before which the scheduler sends nothing. */
	uint64_t now, free_at, not_before;
	/* The TSC at the start. */
	uint64_t origin;
	/* The offset of the time stamp in an mbuf, or -1. */
	int stamp;
	/* Frames that left the scheduler and that the device has not taken yet. */
	uint32_t staged;
	struct rte_mbuf *waiting[BURST];

	/* The results of the last call of the scheduler. */
	uint32_t count, lost_count;
	pifolab_packet packets[BURST];
	int32_t queues[BURST];
	pifolab_lost lost[PIFOLAB_BURST];
};

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

/* Reads, ranks and offers up to BURST frames that arrive at `now`. */
int node_offer(struct node *node, struct rte_mbuf **frames, uint32_t count, uint64_t now)
{
	const uint8_t *bytes[BURST];
	uint32_t lengths[BURST], offered;
	pifolab_frame what[BURST];
	if (count == 0)
		return GOES_ON;
	for (uint32_t i = 0; i < count; i++) {
		bytes[i] = rte_pktmbuf_mtod(frames[i], const uint8_t *);
		lengths[i] = frames[i]->data_len;
		node->packets[i].index = (uintptr_t)frames[i];
	}
	node->now = now;
	if (pifolab_read(node->reader, node->scheduler, bytes, lengths, count, now, node->packets, what) != PIFOLAB_OK)
		return FAILED;
	for (uint32_t i = 0; i < count; i++) {
		/* Only the first segment of a frame is read. */
		node->packets[i].size = frames[i]->pkt_len;
		add(&node->counters.received, frames[i]->pkt_len);
		node->counters.unranked += what[i] == PIFOLAB_FRAME_UNRANKED;
		node->counters.neighbour += what[i] == PIFOLAB_FRAME_NEIGHBOUR;
		node->counters.not_ip += what[i] == PIFOLAB_FRAME_OTHER;
	}
	for (uint32_t done = 0; done < count; done += offered) {
		if (pifolab_enqueue(node->scheduler, node->packets + done, count - done, now, node->queues + done, &offered, node->lost,
				    PIFOLAB_BURST, &node->lost_count) != PIFOLAB_OK)
			return FAILED;
		drop_lost(node, 0);
	}
	for (uint32_t i = 0; i < count; i++)
		if (node->queues[i] >= 0)
			add(&node->counters.admitted, node->packets[i].size);
	node->not_before = 0;
	return GOES_ON;
}

/* Takes up to `room` frames from the scheduler at `now`: `count` of them are in `packets`. */
int node_take(struct node *node, uint32_t room, uint64_t now)
{
	int failed = pifolab_dequeue(node->scheduler, node->packets, room, now, node->queues, &node->count, node->lost, PIFOLAB_BURST,
				     &node->lost_count, &node->not_before) != PIFOLAB_OK;
	drop_lost(node, 1);
	return failed ? FAILED : GOES_ON;
}

/* Passes the staged frames to the device, as far as it accepts them. */
static void flush(struct node *node)
{
	uint64_t bytes = 0;
	uint32_t done, left;
	if (node->staged == 0)
		return;
	for (uint32_t i = 0; i < node->staged; i++)
		bytes += node->waiting[i]->pkt_len;
	/* The lengths of the remaining frames only: a sent frame may already be reused. */
	in_burst = OUT_IS_GONE;
	done = rte_eth_tx_burst(node->out, 0, node->waiting, (uint16_t)node->staged);
	in_burst = 0;
	left = node->staged - done;
	for (uint32_t i = 0; i < left; i++) {
		node->waiting[i] = node->waiting[done + i];
		bytes -= node->waiting[i]->pkt_len;
	}
	node->counters.sent.packets += done;
	node->counters.sent.bytes += bytes;
	node->counters.device_full += left > 0;
	node->staged = left;
}

/* The time that `bytes` take on the link. */
static uint64_t on_link(const struct node *node, uint64_t bytes)
{
	return ((bytes + node->overhead) * 8 * 1000000000000 + node->rate - 1) / node->rate;
}

/* Starts every transmission that is due by `until`: a busy link starts the next frame at the end of the last, an idle
 * one at the frame's arrival. Without a rate, sends all that the device accepts. */
static int depart(struct node *node, uint64_t until)
{
	while (pifolab_packets(node->scheduler) > 0) {
		uint64_t start = node->rate ? RTE_MAX(RTE_MAX(node->free_at, node->now), node->not_before) : until;
		if (start > until || node->not_before > until)
			break;
		if (node->staged == BURST)
			flush(node);
		while (node->by_capture && node->staged == BURST && !__atomic_load_n(node->stop, __ATOMIC_RELAXED))
			flush(node);
		if (node->staged == BURST) {
			/* The link waits for the device and does not make up for the lost time. */
			node->free_at = RTE_MAX(node->free_at, until);
			break;
		}
		if (node_take(node, node->rate ? 1 : BURST - node->staged, start) != GOES_ON)
			return FAILED;
		for (uint32_t i = 0; i < node->count; i++)
			node->waiting[node->staged++] = frame_of(node->packets[i].index);
		if (node->count > 0 && node->rate)
			node->free_at = start + on_link(node, node->packets[0].size);
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
int node_run(struct node *node, uint64_t microseconds)
{
	const uint64_t hz = rte_get_tsc_hz(), end = rte_rdtsc() + hz / 1000000 * microseconds;
	/* Picoseconds per cycle, in 2^-32. */
	const unsigned __int128 scale = ((unsigned __int128)1000000000000 << 32) / hz;
	struct rte_mbuf *frames[BURST];
	int state = GOES_ON;
	int gone = sigsetjmp(before_burst, 1);
	if (gone) {
		in_burst = 0;
		return gone;
	}
	signal(SIGSEGV, handle_fault);
	if (node->origin == 0 && !node->by_capture)
		node->origin = rte_rdtsc();
	while (state == GOES_ON && !__atomic_load_n(node->stop, __ATOMIC_RELAXED)) {
		uint64_t tsc = rte_rdtsc();
		if (tsc >= end)
			break;
		uint64_t most = node->most - node->counters.received.packets;
		in_burst = IN_IS_GONE;
		uint32_t count = most == 0 ? 0 : rte_eth_rx_burst(node->in, 0, frames, (uint16_t)RTE_MIN(most, (uint64_t)BURST));
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
		flush(node);
	}
	return state;
}

/* Counts the held frames. Their memory is freed with the process. */
void node_end(struct node *node)
{
	node->counters.held_at_end.packets = pifolab_packets(node->scheduler) + node->staged;
	node->counters.held_at_end.bytes = pifolab_bytes(node->scheduler);
	for (uint32_t i = 0; i < node->staged; i++)
		node->counters.held_at_end.bytes += node->waiting[i]->pkt_len;
}

void node_lose(struct node *node, uint64_t index)
{
	add(&node->counters.lost_at_change, frame_of(index)->pkt_len);
	rte_pktmbuf_free(frame_of(index));
}

/* The error of DPDK's last call. */
const char *node_error(void)
{
	return rte_strerror(rte_errno);
}

uint64_t node_size(void)
{
	return sizeof(struct node);
}

struct rte_mempool *node_pool(uint32_t mbufs, uint16_t frame_bytes)
{
	return rte_pktmbuf_pool_create("pifolab", mbufs, RTE_MIN(mbufs / 4, 256u), 0, (uint16_t)(frame_bytes + RTE_PKTMBUF_HEADROOM),
				       SOCKET_ID_ANY);
}

/* A frame of these bytes, or NULL. */
struct rte_mbuf *node_frame(struct rte_mempool *pool, const uint8_t *bytes, uint32_t length)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);
	char *room = frame == NULL ? NULL : rte_pktmbuf_append(frame, (uint16_t)length);
	if (room != NULL)
		memcpy(room, bytes, length);
	return room == NULL ? NULL : frame;
}

const uint8_t *node_bytes(const struct rte_mbuf *frame)
{
	return rte_pktmbuf_mtod(frame, const uint8_t *);
}

void node_free(struct rte_mbuf *frame)
{
	rte_pktmbuf_free(frame);
}

/* The number of a device; negative if there is none of this name. */
int node_port(const char *name)
{
	uint16_t port;
	return rte_eth_dev_get_port_by_name(name, &port) == 0 ? port : -1;
}

/* Writes the name of the device after `port` to `name` (RTE_ETH_NAME_MAX_LEN bytes); returns its number, or -1 after the last. */
int node_next(int port, char *name)
{
	uint16_t next = (uint16_t)rte_eth_find_next((uint16_t)(port + 1));
	return next < RTE_MAX_ETHPORTS && rte_eth_dev_get_name_by_port(next, name) == 0 ? next : -1;
}

/* Configures one receive and one transmit queue and starts the device; 0, or what DPDK says. */
int node_start(uint16_t port, struct rte_mempool *pool)
{
	struct rte_eth_conf conf;
	uint16_t receive = RECEIVE_RING, send = SEND_RING;
	int said;
	memset(&conf, 0, sizeof conf);
	said = rte_eth_dev_configure(port, 1, 1, &conf);
	if (said == 0)
		said = rte_eth_dev_adjust_nb_rx_tx_desc(port, &receive, &send);
	if (said == 0)
		said = rte_eth_rx_queue_setup(port, 0, receive, SOCKET_ID_ANY, NULL, pool);
	if (said == 0)
		said = rte_eth_tx_queue_setup(port, 0, send, SOCKET_ID_ANY, NULL);
	if (said == 0)
		said = rte_eth_dev_start(port);
	/* Devices without addresses have no such mode. */
	if (said == 0)
		(void)rte_eth_promiscuous_enable(port);
	return said;
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

/* The frames of a capture; negative if it cannot be read. */
int64_t node_count(const char *path)
{
	char said[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *header;
	const u_char *bytes;
	int64_t count = 0;
	pcap_t *capture = pcap_open_offline(path, said);
	if (capture == NULL)
		return -1;
	while (pcap_next_ex(capture, &header, &bytes) == 1)
		count++;
	pcap_close(capture);
	return count;
}

/* Where the driver writes times of frames, or -1. */
int node_stamp(void)
{
	return rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, NULL);
}

void node_close(uint16_t port)
{
	(void)rte_eth_dev_stop(port);
	(void)rte_eth_dev_close(port);
}
