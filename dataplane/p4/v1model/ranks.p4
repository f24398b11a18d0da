// SPDX-License-Identifier: Apache-2.0
// Ranks that the pipeline computes (SP-PIFO, section 5): the values of PF_RANK beside carried ranks.
//
// RANK_STFQ       start-time fair queueing: rank = max(V, finish of the flow); finish = rank + bytes. Egress sets V to the largest
//                 rank that has left. A packet that is refused leaves its flow's finish as it was.
// RANK_AFQ        the round of AFQ: bid = max(bid of the flow, first byte of the round) + bytes; rank = the bid's round of
//                 2^PF_AFQ_ROUND_LOG bytes. Egress sets the round to the largest that has left.
// RANK_LSTF       least slack time first: the payload carries the slack in microseconds; rank = now + slack, and egress takes the time
//                 that the packet waited off the slack.
// RANK_FIFO_PLUS  the payload carries by how many microseconds the packet waited longer than the mean, over the hops so far (signed);
//                 rank = now less that. Egress adds what it waited here, less the mean here: 1/16 of each wait, and 15/16 of the
//                 mean before.
//
// A flow is the CRC-32 of addresses, protocol and ports, modulo PF_FLOWS cells: flows that share a cell share a rank.
#ifndef PF_RANKS_P4
#define PF_RANKS_P4

#define RANK_STFQ 3
#define RANK_AFQ 4
#define RANK_LSTF 5
#define RANK_FIFO_PLUS 6

#ifndef PF_FLOWS
#define PF_FLOWS 4096
#endif
#ifndef PF_AFQ_ROUND_LOG
#define PF_AFQ_ROUND_LOG 11
#endif
#define PF_AFQ_ROUND ((bit<8>)PF_AFQ_ROUND_LOG)

// The start of the payload of UDP or TCP.
#define PF_CARRIES (PF_RANK == RANK_PAYLOAD || PF_RANK == RANK_LSTF || PF_RANK == RANK_FIFO_PLUS)
#define PF_OF_FLOWS (PF_RANK == RANK_STFQ || PF_RANK == RANK_AFQ)

#if PF_RANK == RANK_LSTF || PF_RANK == RANK_FIFO_PLUS
header rank_t {
    bit<64> rank;
}
#endif

#if PF_OF_FLOWS
// The finish of a flow's last packet (STFQ), or its bid (AFQ).
register<bit<64>>(PF_FLOWS) finishes;
// The largest rank that has left.
register<bit<64>>(1) served;
#endif
#if PF_RANK == RANK_FIFO_PLUS
// Sixteen times the mean wait.
register<bit<64>>(1) waits;
#endif

#endif
