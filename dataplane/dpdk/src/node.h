/* The structs of the burst loop (node.c), which node.rs and the benchmark have, too. */
#include <pifolab_sched.h>

#include <rte_mbuf.h>

/* The packets of one call, and the states after a turn. */
enum { BURST = 32, GOES_ON = 0, ALL_RECEIVED = 1, FAILED = 2, IN_IS_GONE = 3, OUT_IS_GONE = 4 };

struct tally { uint64_t packets, bytes; };

struct counters {
	struct tally received, sent;
	/* By pifolab_reason; the third counts frames that were admitted before, and the others refused ones. */
	struct tally dropped[5];
	/* By queue management; when parameters changed; and held when the node ended. */
	struct tally dropped_at_dequeue, lost_at_change, held_at_end;
	/* `over_share`: frames that are not IP, beyond their share. */
	uint64_t unranked, neighbour, not_ip, over_share, device_full;
};

struct node {
	pifolab_scheduler *scheduler;
	pifolab_reader *reader;
	/* Ports of DPDK, and the queue of both. */
	uint16_t in, out, queue;
	/* Whether times are those of the capture that `in` replays. */
	uint8_t by_capture;
	/* Bits per second (0: as fast as `out` takes frames); bytes that each frame takes on the link beyond its own. */
	uint64_t rate, overhead;
	/* Frames to receive; UINT64_MAX: without end. */
	uint64_t most;
	/* Frames that are not IP have rank 0 for at most this share of the bytes that leave, in 65536ths, and else
	 * `rank_over_share`. 0: the reader's rank, always. */
	uint64_t share, rank_over_share;
	/* Set by a signal. */
	const uint8_t *stop;
	/* When the link is free, in picoseconds: all nodes of one link point to the same number. */
	uint64_t *free_at;
	struct counters counters;

	/* Bytes at rank 0 that the share still has, times 65536. */
	uint64_t credit;
	/* Picoseconds: of the last arrival or poll, and before which the scheduler sends nothing. */
	uint64_t now, not_before;
	/* The TSC at the start. */
	uint64_t origin;
	/* The length of a turn in microseconds; how it ended; and the text of a failure. */
	uint64_t turn;
	int state;
	const char *error;
	/* The offset of the time stamp in an mbuf, or -1. */
	int stamp;
	/* Frames that left the scheduler and that the device has not taken yet, and their bytes. */
	uint32_t staged;
	uint64_t staged_bytes;
	struct rte_mbuf *waiting[BURST];

	/* The results of the last call of the scheduler. */
	uint32_t count, lost_count;
	pifolab_packet packets[BURST];
	int32_t queues[BURST];
	pifolab_lost lost[PIFOLAB_BURST];
};

int node_offer(struct node *node, struct rte_mbuf **frames, uint32_t count, uint64_t now);
int node_take(struct node *node, uint32_t room, uint64_t now);
