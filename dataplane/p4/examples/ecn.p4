// SPDX-License-Identifier: Apache-2.0
// Marks packets that have waited in a long queue (explicit congestion notification, RFC 3168; with DCTCP its step at K): a packet
// that can carry a mark, and found at least ECN_THRESHOLD packets in its queue, leaves with the codepoint 3.
#include <core.p4>
#include <v1model.p4>
#include "../common/headers.p4"
#include "route.p4"

#ifndef ECN_THRESHOLD
#define ECN_THRESHOLD 20
#endif

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
}

struct metadata_t {}

parser PfParser(packet_in packet, out headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether) {
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
    apply {
        bool capable = headers.ipv4.isValid() && headers.ipv4.ecn != 0;
        if (capable && standard.enq_qdepth >= ECN_THRESHOLD) {
            headers.ipv4.ecn = 3;
        }
    }
}

control PfComputeChecksum(inout headers_t headers, inout metadata_t meta) {
    apply {
        update_checksum(headers.ipv4.isValid() && headers.ipv4.words == 5,
            { headers.ipv4.version, headers.ipv4.words, headers.ipv4.dscp, headers.ipv4.ecn, headers.ipv4.length,
              headers.ipv4.id, headers.ipv4.flags, headers.ipv4.more_fragments, headers.ipv4.fragment_offset,
              headers.ipv4.ttl, headers.ipv4.protocol, headers.ipv4.source, headers.ipv4.destination },
            headers.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control PfDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers);
    }
}

V1Switch(PfParser(), PfVerifyChecksum(), PfIngress(), PfEgress(), PfComputeChecksum(), PfDeparser()) main;
