// SPDX-License-Identifier: Apache-2.0
// Inspects queues hop by hop: each switch writes into the packet who it is, how long the packet's queue was and how long the packet
// waited in it. The receiver reads the queues along the path from the packet itself.
//
// The trail lies between Ethernet and IPv4, under an EtherType for local experiments: two bytes for the EtherType that follows, one
// byte for the number of hops, and eight bytes for each hop, the last one first. Beyond HOPS_MOST hops a switch writes nothing.
#include <core.p4>
#include <v1model.p4>
#include "../common/headers.p4"
#include "route.p4"

#ifndef HOPS_MOST
#define HOPS_MOST 8
#endif
#define ETHER_TRAIL 16w0x88B5

header trail_t {
    bit<16> next;
    bit<8> count;
}

header hop_t {
    bit<16> switch_id;
    bit<16> depth;
    bit<32> waited_us;
}

struct headers_t {
    ethernet_t ethernet;
    trail_t trail;
    hop_t[HOPS_MOST] hops;
    ipv4_t ipv4;
    udp_t udp;
}

struct metadata_t {
    bit<8> hops_left;
}

parser PfParser(packet_in packet, out headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether) {
            ETHER_TRAIL : parse_trail;
            ETHER_IPV4 : parse_ipv4;
            default : accept;
        }
    }
    state parse_trail {
        packet.extract(headers.trail);
        meta.hops_left = headers.trail.count;
        transition select(headers.trail.count) {
            0 : parse_inner;
            default : parse_hop;
        }
    }
    state parse_hop {
        packet.extract(headers.hops.next);
        meta.hops_left = meta.hops_left - 1;
        transition select(meta.hops_left) {
            0 : parse_inner;
            default : parse_hop;
        }
    }
    state parse_inner {
        transition select(headers.trail.next) {
            ETHER_IPV4 : parse_ipv4;
            default : accept;
        }
    }
    state parse_ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.protocol) {
            PROTO_UDP : parse_udp;
            default : accept;
        }
    }
    state parse_udp {
        packet.extract(headers.udp);
        transition accept;
    }
}

control PfVerifyChecksum(inout headers_t headers, inout metadata_t meta) {
    apply {}
}

control PfIngress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    PfRoute() forwarding;
    apply {
        forwarding.apply(headers.ipv4, headers.udp, standard);
    }
}

control PfEgress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    action write_hop(bit<16> switch_id) {
        headers.hops.push_front(1);
        headers.hops[0].setValid();
        headers.hops[0].switch_id = switch_id;
        headers.hops[0].depth = (bit<16>)standard.enq_qdepth;
        headers.hops[0].waited_us = standard.deq_timedelta;
        headers.trail.count = headers.trail.count + 1;
    }
    // Its default action has the number of the switch: table_set_default identity write_hop NUMBER.
    table identity {
        actions = { write_hop; }
        default_action = write_hop(0);
    }
    apply {
        if (headers.ipv4.isValid() && !headers.trail.isValid()) {
            headers.trail.setValid();
            headers.trail.next = headers.ethernet.ether;
            headers.trail.count = 0;
            headers.ethernet.ether = ETHER_TRAIL;
        }
        if (headers.trail.isValid() && headers.trail.count < HOPS_MOST) {
            identity.apply();
        }
    }
}

control PfComputeChecksum(inout headers_t headers, inout metadata_t meta) {
    apply {}
}

control PfDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(PfParser(), PfVerifyChecksum(), PfIngress(), PfEgress(), PfComputeChecksum(), PfDeparser()) main;
