// SPDX-License-Identifier: Apache-2.0
// The fields of a packet that a decision on Tofino reads.
#ifndef PF_TYPES_P4
#define PF_TYPES_P4

struct metadata_t {
    // The results of the first pass of a resubmitted packet.
    bit<PF_RANK_BITS> rank;
    bit<1> ranked;
    bit<1> again;
#ifdef PF_RESUBMITS
    resubmitted_t resubmitted;
#endif
}

struct headers_t {
    depth_t depth;
    ethernet_t ethernet;
    vlan_t outer_tag;
    vlan_t inner_tag;
    ipv4_t ipv4;
    ipv6_t ipv6;
    udp_t udp;
#if PF_RANK == RANK_PAYLOAD
    rank_t carried;
#endif
}

#endif
