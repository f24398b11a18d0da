/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The rank of a packet: carried in the DSCP or the payload, or computed per flow (LAS, STFQ). */
#ifndef PIFOLAB_RANK_H
#define PIFOLAB_RANK_H

#include "common.h"

#define ETH_IPV4 0x0800
#define ETH_IPV6 0x86DD
#define ETH_VLAN 0x8100
#define ETH_HEADER 14
#define VLAN_TAG 4
#define IPV6_HEADER 40
#define UDP_HEADER 8
#define PROTO_TCP 6
#define PROTO_UDP 17

/* Rank units per byte: as the library's STFQ. */
#define STFQ_SCALE 1024
/* The largest rank. */
#define MAX_RANK (EMPTY_SLOT - 1)

/* Bytes seen (LAS) or finish tag (STFQ) of each flow; the flows that were silent longest give way to new ones. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FLOWS);
	__type(key, struct pf_flow);
	__type(value, __u64);
} flows SEC(".maps");

struct headers {
	struct pf_flow flow;
	__u32 payload;   /* offset of the payload in the frame; 0 if there is none to find */
	__u8 dscp;
};

static __always_inline __u32 read_u32(const __u8 *at)
{
	return (__u32)at[0] << 24 | (__u32)at[1] << 16 | (__u32)at[2] << 8 | at[3];
}

static __always_inline __u64 read_u64(const __u8 *at)
{
	return (__u64)read_u32(at) << 32 | read_u32(at + 4);
}

/* False if the frame is not IP (or too short to be). */
static __always_inline bool parse(struct __sk_buff *skb, struct headers *headers)
{
	/* Ethernet, a VLAN tag, and the larger of the two IP headers. */
	__u8 frame[ETH_HEADER + VLAN_TAG + IPV6_HEADER] = {};
	__u32 network = ETH_HEADER, transport, wanted = sizeof(frame);
	__u8 transport_header[16] = {};

	if (skb->len < wanted)
		wanted = skb->len;
	/* Said again for the verifier. */
	if (wanted < ETH_HEADER + 20 || wanted > sizeof(frame) || bpf_skb_load_bytes(skb, 0, frame, wanted) < 0)
		return false;
	__u16 protocol = frame[12] << 8 | frame[13];

	if (protocol == ETH_VLAN) {
		protocol = frame[16] << 8 | frame[17];
		network += VLAN_TAG;
	}
	const __u8 *ip = network == ETH_HEADER ? frame + ETH_HEADER : frame + ETH_HEADER + VLAN_TAG;
	bool fragment = false;

	if (protocol == ETH_IPV4) {
		headers->dscp = ip[1] >> 2;
		headers->flow.protocol = ip[9];
		headers->flow.source = read_u32(ip + 12);
		headers->flow.destination = read_u32(ip + 16);
		fragment = (ip[6] & 0x1F) | ip[7];
		transport = network + (ip[0] & 0xF) * 4;
	} else if (protocol == ETH_IPV6) {
		headers->dscp = (ip[0] & 0xF) << 2 | ip[1] >> 6;
		headers->flow.protocol = ip[6];
		/* The halves are multiplied apart, so that swapping them makes another flow. */
		headers->flow.source = read_u64(ip + 8) * 0x9E3779B97F4A7C15ULL ^ read_u64(ip + 16);
		headers->flow.destination = read_u64(ip + 24) * 0x9E3779B97F4A7C15ULL ^ read_u64(ip + 32);
		transport = network + IPV6_HEADER;
	} else {
		return false;
	}
	/* Later fragments have no ports: they form one flow per pair of hosts. */
	if (config.rank_source == RANK_DSCP || fragment)
		return true;
	if (headers->flow.protocol == PROTO_UDP) {
		if (bpf_skb_load_bytes(skb, transport, transport_header, UDP_HEADER) < 0)
			return true;
		headers->payload = transport + UDP_HEADER;
	} else if (headers->flow.protocol == PROTO_TCP) {
		if (bpf_skb_load_bytes(skb, transport, transport_header, 16) < 0)
			return true;
		headers->payload = transport + (transport_header[12] >> 4) * 4;
	} else {
		return true;
	}
	headers->flow.ports = read_u32(transport_header);
	return true;
}

/* A big-endian integer in the payload; segments without it (handshakes, acknowledgements) have rank 0. */
static __always_inline __u64 payload_rank(struct __sk_buff *skb, const struct headers *headers)
{
	__u32 offset = headers->payload + config.payload_offset;
	__u8 bytes[8] = {};
	__u64 rank = 0;

	if (!headers->payload)
		return 0;
	switch (config.payload_width) {
	case 1:
		if (bpf_skb_load_bytes(skb, offset, bytes + 7, 1) < 0)
			return 0;
		break;
	case 2:
		if (bpf_skb_load_bytes(skb, offset, bytes + 6, 2) < 0)
			return 0;
		break;
	case 4:
		if (bpf_skb_load_bytes(skb, offset, bytes + 4, 4) < 0)
			return 0;
		break;
	default:
		if (bpf_skb_load_bytes(skb, offset, bytes, 8) < 0)
			return 0;
	}
	rank = read_u64(bytes);
	return rank > MAX_RANK ? MAX_RANK : rank;
}

/* Finds the rank; false if the packet is none of the scheduler's business. */
static __always_inline bool rank_of(struct __sk_buff *skb, __u32 bytes, struct headers *headers, __u64 *rank)
{
	__u64 *seen;

	if (!parse(skb, headers))
		return false;
	switch (config.rank_source) {
	case RANK_PAYLOAD:
		*rank = payload_rank(skb, headers);
		return true;
	case RANK_LAS:
		seen = bpf_map_lookup_elem(&flows, &headers->flow);
		*rank = seen ? *seen : 0;
		if (seen) {
			*seen += bytes;
		} else {
			__u64 first = bytes;

			bpf_map_update_elem(&flows, &headers->flow, &first, BPF_ANY);
		}
		return true;
	case RANK_STFQ:
		seen = bpf_map_lookup_elem(&flows, &headers->flow);
		*rank = counters.virtual_time;
		if (seen && *seen > *rank)
			*rank = *seen;
		return true;
	default:
		*rank = headers->dscp;
		return true;
	}
}

/* STFQ charges a flow for what was admitted only: a dropped packet costs it nothing. */
static __always_inline void charge(const struct headers *headers, __u64 rank, __u32 bytes)
{
	if (config.rank_source == RANK_STFQ) {
		__u64 finish = rank + (__u64)bytes * STFQ_SCALE;

		bpf_map_update_elem(&flows, &headers->flow, &finish, BPF_ANY);
	}
}

#endif
