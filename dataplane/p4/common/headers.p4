// SPDX-License-Identifier: Apache-2.0
// The headers that decide a packet's rank, for every target.
#ifndef PF_HEADERS
#define PF_HEADERS

#define ETHER_IPV4 16w0x0800
#define ETHER_ARP 16w0x0806
#define ETHER_VLAN 16w0x8100
#define ETHER_IPV6 16w0x86DD
#define ETHER_QINQ 16w0x88A8
#define PROTO_TCP 8w6
#define PROTO_UDP 8w17
#define PROTO_ICMPV6 8w58

#define ETHERNET_BYTES 14
#define VLAN_BYTES 4
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES 8
#define TCP_BYTES 20

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether;
}

header vlan_t {
    bit<3> priority;
    bit<1> drop_eligible;
    bit<12> id;
    bit<16> ether;
}

header ipv4_t {
    bit<4> version;
    bit<4> words;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> length;
    bit<16> id;
    bit<2> flags;
    bit<1> more_fragments;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header ipv6_t {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow_label;
    bit<16> length;
    bit<8> next;
    bit<8> hops;
    bit<128> source;
    bit<128> destination;
}

header udp_t {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

header tcp_t {
    bit<16> source;
    bit<16> destination;
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<4> words;
    bit<12> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

// The source of a packet's rank, as `--rank` of the Linux data plane: its DSCP, the priority of its outer VLAN tag, or
// a big-endian integer of PF_RANK_BYTES bytes that begins the payload of UDP or TCP.
#define RANK_DSCP 0
#define RANK_VLAN 1
#define RANK_PAYLOAD 2
#ifndef PF_RANK
#define PF_RANK RANK_DSCP
#endif
#ifndef PF_RANK_BYTES
#define PF_RANK_BYTES 8
#endif
// The operands of a switch with 32-bit arithmetic.
#ifndef PF_RANK_BITS
#define PF_RANK_BITS 64
#endif

#if PF_RANK == RANK_PAYLOAD
#if PF_RANK_BYTES == 1
#define PF_CARRIED_BITS 8
#elif PF_RANK_BYTES == 2
#define PF_CARRIED_BITS 16
#elif PF_RANK_BYTES == 4
#define PF_CARRIED_BITS 32
#elif PF_RANK_BYTES == 8
#define PF_CARRIED_BITS 64
#else
#error "PF_RANK_BYTES: expected 1, 2, 4 or 8"
#endif

header rank_t {
    bit<PF_CARRIED_BITS> rank;
}
#endif

#endif
