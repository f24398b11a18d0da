/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Reads frames: the flow, the priority bits, and the place of the payload. crates/frames/src/frame.rs reads frames in
 * the same way; tests/kernel/frames.rs compares the two on a list of frames.
 *
 * An includer defines PACKET and `load_bytes(PACKET *, offset, to, length)`, which returns a negative number if the
 * frame is shorter. */
#ifndef PIFOLAB_FRAME_H
#define PIFOLAB_FRAME_H

#include "decision.h"

#include <bpf/bpf_endian.h>
#include <stdbool.h>

#define ETH_IPV4 0x0800
#define ETH_ARP 0x0806
#define ETH_VLAN 0x8100
#define ETH_IPV6 0x86DD
#define ETH_MPLS 0x8847
#define ETH_MPLS_MULTICAST 0x8848
#define ETH_QINQ 0x88A8
#define ETH_HEADER 14
#define VLAN_TAG 4
#define MOST_TAGS 2
#define IPV4_HEADER 20
#define IPV6_HEADER 40
#define UDP_HEADER 8
#define TCP_HEADER 20
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_ICMPV6 58

/* The kind of a frame for the scheduler. */
enum pf_kind {
	KIND_IP,	/* it has a rank */
	KIND_NEIGHBOUR, /* address resolution and neighbour discovery: without them IP does not work */
	KIND_OTHER,	/* anything else, and IP headers that are broken */
};

struct headers {
	struct pf_flow flow;
	__u32 end;     /* of the packet; Ethernet's padding may follow */
	__u32 payload; /* where the payload of UDP or TCP begins; 0 if there is none to find */
	__u8 dscp;
	__u8 tagged; /* with a VLAN tag */
	__u8 vlan_priority;
	__u8 labelled; /* with an MPLS label */
	__u8 traffic_class;
};

/* Whether ranks are read behind the IP header. */
static __always_inline bool needs_transport(void)
{
	return config.rank_source == RANK_PAYLOAD || config.rank_source >= RANK_TABLE;
}

static __always_inline bool is_tag(__u16 ether)
{
	return ether == ETH_VLAN || ether == ETH_QINQ;
}

/* Ports and the place of the payload. Fragments, including the first, have neither, so that all fragments of a datagram
 * are one flow with one rank. */
static __always_inline void parse_transport(PACKET *packet, __u32 transport, struct headers *headers)
{
	__u32 words[4] = {};

	if (headers->flow.protocol == PROTO_UDP) {
		if (transport + UDP_HEADER > headers->end || load_bytes(packet, transport, words, 4) < 0)
			return;
		headers->payload = transport + UDP_HEADER;
	} else if (headers->flow.protocol == PROTO_TCP) {
		if (transport + TCP_HEADER > headers->end || load_bytes(packet, transport, words, 16) < 0)
			return;
		__u32 header = (bpf_ntohl(words[3]) >> 28) * 4;

		if (header >= TCP_HEADER && transport + header <= headers->end)
			headers->payload = transport + header;
	} else {
		return;
	}
	headers->flow.ports = bpf_ntohl(words[0]);
}

/* Reads the headers of a frame of `length` bytes. `tags` is 1 if the kernel has taken a VLAN tag out of it (then its
 * control information is in `control`), else 0. */
static __always_inline enum pf_kind parse(PACKET *packet, __u32 length, __u32 tags, __u16 control, struct headers *headers)
{
	/* Ethernet, two VLAN tags and the larger of the two IP headers, moved by two bytes: so that IP headers are aligned. */
	__u32 words[(2 + ETH_HEADER + MOST_TAGS * VLAN_TAG + IPV6_HEADER) / 4] = {};
	const __u32 *ip = words + 4;
	__u32 wanted = sizeof(words) - 2, network = ETH_HEADER, transport, word;
	bool fragment = false;
	__u16 ether;

	if (length < wanted)
		wanted = length;
	/* Repeated for the verifier, on the variable itself and in two steps: it follows neither a copy nor a single
	 * comparison for both. */
	opaque(wanted);
	if (wanted > sizeof(words) - 2)
		return KIND_OTHER;
	opaque(wanted);
	if (wanted < ETH_HEADER || load_bytes(packet, 0, (__u8 *)words + 2, wanted) < 0)
		return KIND_OTHER;
	ether = bpf_ntohl(words[3]);
	if (tags) {
		headers->tagged = 1;
		headers->vlan_priority = control >> 13;
	}
	if (is_tag(ether)) {
		word = bpf_ntohl(words[4]);
		if (!tags) {
			headers->tagged = 1;
			headers->vlan_priority = word >> 29;
		}
		ether = word;
		network += VLAN_TAG;
		ip = words + 5;
		if (!tags && is_tag(ether)) {
			ether = bpf_ntohl(words[5]);
			network += VLAN_TAG;
			ip = words + 6;
		}
	}
	word = bpf_ntohl(ip[0]);
	if (ether == ETH_IPV4) {
		__u32 header = (word >> 24 & 0xF) * 4, total = word & 0xFFFF;

		if (word >> 28 != 4 || header < IPV4_HEADER || network + header > length || (total && total < header))
			return KIND_OTHER;
		/* A frame that is segmented later, and is too long for the field, has a total length of 0. */
		headers->end = total && network + total < length ? network + total : length;
		headers->dscp = word >> 18 & 0x3F;
		fragment = bpf_ntohl(ip[1]) & 0x3FFF;
		headers->flow.protocol = bpf_ntohl(ip[2]) >> 16 & 0xFF;
		headers->flow.version = 4;
		headers->flow.source[3] = ip[3];
		headers->flow.destination[3] = ip[4];
		transport = network + header;
	} else if (ether == ETH_IPV6) {
		__u32 next = bpf_ntohl(ip[1]), total = next >> 16;

		if (word >> 28 != 6 || network + IPV6_HEADER > length)
			return KIND_OTHER;
		transport = network + IPV6_HEADER;
		headers->end = total && transport + total < length ? transport + total : length;
		headers->dscp = word >> 22 & 0x3F;
		headers->flow.protocol = next >> 8 & 0xFF;
		headers->flow.version = 6;
		if (needs_transport()) {
			__builtin_memcpy(headers->flow.source, ip + 2, 16);
			__builtin_memcpy(headers->flow.destination, ip + 6, 16);
		}
		/* Neighbour discovery comes from this link: a router would have lowered its hop limit (RFC 4861). */
		if (headers->flow.protocol == PROTO_ICMPV6 && (next & 0xFF) == 255) {
			__u8 type = 0;

			if (load_bytes(packet, transport, &type, 1) == 0 && type >= 133 && type <= 137)
				return KIND_NEIGHBOUR;
		}
	} else if ((ether == ETH_MPLS || ether == ETH_MPLS_MULTICAST) && config.rank_source == RANK_MPLS &&
		   network + 4 <= length) {
		headers->labelled = 1;
		headers->traffic_class = word >> 9 & 7;
		return KIND_IP;
	} else {
		return ether == ETH_ARP ? KIND_NEIGHBOUR : KIND_OTHER;
	}
	if (needs_transport() && !fragment)
		parse_transport(packet, transport, headers);
	return KIND_IP;
}

/* Reads a big-endian integer in the payload; returns false if the payload is too short. */
static __always_inline bool payload_rank(PACKET *packet, const struct headers *headers, __u64 *rank)
{
	__u32 offset = headers->payload + config.payload_offset;
	__u64 word = 0;

	if (!headers->payload || offset + config.payload_width > headers->end)
		return false;
	switch (config.payload_width) {
	case 1:
		if (load_bytes(packet, offset, (__u8 *)&word + 7, 1) < 0)
			return false;
		break;
	case 2:
		if (load_bytes(packet, offset, (__u8 *)&word + 6, 2) < 0)
			return false;
		break;
	case 4:
		if (load_bytes(packet, offset, (__u8 *)&word + 4, 4) < 0)
			return false;
		break;
	default:
		if (load_bytes(packet, offset, &word, 8) < 0)
			return false;
	}
	*rank = bpf_be64_to_cpu(word);
	if (*rank > MAX_RANK)
		*rank = MAX_RANK;
	return true;
}

/* VLAN priorities in the order of service: 1 (background) comes after 0 (best effort), as in IEEE 802.1Q. */
static __always_inline __u64 vlan_rank(__u32 priority)
{
	return priority > 1 ? 7 - priority : 6 + priority;
}

/* Ranks of flows and of prefixes (with STFQ: weights), which user space reads from a file. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FLOWS);
	__uint(map_flags, 1U /* BPF_F_NO_PREALLOC: most tables are small */);
	__type(key, struct pf_flow);
	__type(value, __u64);
} table_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, MAX_FLOWS);
	__uint(map_flags, 1U /* BPF_F_NO_PREALLOC: a trie has no other way */);
	__type(key, struct pf_prefix);
	__type(value, __u64);
} table_prefixes SEC(".maps");

static __always_inline __u64 *look_up_prefix(__u32 side, const struct pf_flow *flow, const __u32 *address)
{
	struct pf_prefix key = {.bits = 8 * (sizeof(key) - 4), .kind = bpf_htonl(side << 8 | flow->version)};

	__builtin_memcpy(key.address, address, sizeof(key.address));
	return bpf_map_lookup_elem(&table_prefixes, &key);
}

/* The entry of the flow itself, else of the longest prefix of the destination, else of the source. */
static __always_inline __u64 *look_up(const struct pf_flow *flow)
{
	__u64 *found = bpf_map_lookup_elem(&table_flows, flow);

	if (!found)
		found = look_up_prefix(PREFIX_DESTINATION, flow, flow->destination);
	if (!found)
		found = look_up_prefix(PREFIX_SOURCE, flow, flow->source);
	return found;
}

/* The rank in an IP packet, or in the table; returns false if there is none. */
static __always_inline bool carried_rank(PACKET *packet, const struct headers *headers, __u32 mark, __u64 *rank)
{
	__u64 *found;

	switch (config.rank_source) {
	case RANK_DSCP:
		*rank = config.dscp_ranks[headers->dscp & 63];
		return !headers->labelled;
	case RANK_PAYLOAD:
		return payload_rank(packet, headers, rank);
	case RANK_VLAN:
		*rank = vlan_rank(headers->vlan_priority);
		return headers->tagged;
	case RANK_MPLS:
		*rank = 7 - headers->traffic_class;
		return headers->labelled;
	case RANK_MARK:
		*rank = mark;
		return mark != 0;
	case RANK_TABLE:
		found = look_up(&headers->flow);
		if (found)
			*rank = *found;
		return found != 0;
	default:
		return false;
	}
}

#endif
