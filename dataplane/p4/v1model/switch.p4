// SPDX-License-Identifier: Apache-2.0
// The switch around a decision: a bump in the wire between the ports 0 and 1, as the user-space switch of the Linux
// data plane. Packets from port 0 to port 1 are scheduled; packets in the other direction pass unscheduled.
//
// The scheduler defines `Decide`. `simple_switch` needs `--priority-queues 8`; its version decides which end of the
// priorities is served first, the value of PF_FIRST_PRIORITY.
#ifndef PF_SWITCH_P4
#define PF_SWITCH_P4

#define OUTER_PORT 9w1

#ifndef PF_FIRST_PRIORITY
#define PF_FIRST_PRIORITY 7
#endif
#if PF_FIRST_PRIORITY == 0
#define PF_PRIORITY(queue) ((bit<3>)(queue))
#else
#define PF_PRIORITY(queue) (3w7 - (bit<3>)(queue))
#endif

#include "ranks.p4"
#ifdef PF_HARNESS
#include "harness.p4"
#endif

header ipv4_options_t {
    varbit<320> options;
}

header tcp_options_t {
    varbit<320> options;
}

// The message type of ICMPv6.
header icmpv6_t {
    bit<8> type;
}

struct headers_t {
    ethernet_t ethernet;
#ifdef PF_HARNESS
    test_t test;
#endif
    vlan_t outer_tag;
    vlan_t inner_tag;
    ipv4_t ipv4;
    ipv4_options_t ipv4_options;
    ipv6_t ipv6;
    icmpv6_t icmpv6;
    udp_t udp;
    tcp_t tcp;
    tcp_options_t tcp_options;
#if PF_CARRIES
    rank_t carried;
#endif
}

struct metadata_t {
    bit<1> scheduled;
    bit<8> queue;
    // The count of units sent into the queue up to and including this packet.
    bit<64> ticket;
#if PF_OF_FLOWS
    bit<64> rank;
#endif
}

parser PfParser(packet_in packet, out headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether) {
#ifdef PF_HARNESS
            ETHER_TEST : parse_test;
#endif
            ETHER_VLAN : parse_outer_tag;
            ETHER_QINQ : parse_outer_tag;
            ETHER_IPV4 : parse_ipv4;
            ETHER_IPV6 : parse_ipv6;
            default : accept;
        }
    }
#ifdef PF_HARNESS
    state parse_test {
        packet.extract(headers.test);
        transition accept;
    }
#endif
    state parse_outer_tag {
        packet.extract(headers.outer_tag);
        transition select(headers.outer_tag.ether) {
            ETHER_VLAN : parse_inner_tag;
            ETHER_QINQ : parse_inner_tag;
            ETHER_IPV4 : parse_ipv4;
            ETHER_IPV6 : parse_ipv6;
            default : accept;
        }
    }
    state parse_inner_tag {
        packet.extract(headers.inner_tag);
        transition select(headers.inner_tag.ether) {
            ETHER_IPV4 : parse_ipv4;
            ETHER_IPV6 : parse_ipv6;
            default : accept;
        }
    }
    state parse_ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.version, headers.ipv4.words) {
            (4, 5) : parse_behind_ipv4;
            (4, 6 .. 15) : parse_ipv4_options;
            default : accept;
        }
    }
    state parse_ipv4_options {
        packet.extract(headers.ipv4_options, ((bit<32>)headers.ipv4.words - 5) << 5);
        transition parse_behind_ipv4;
    }
    // Fragments, including the first, have no transport header here, so all fragments of a datagram have one rank.
    state parse_behind_ipv4 {
        transition select(headers.ipv4.more_fragments, headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (0, 0, PROTO_UDP) : parse_udp;
            (0, 0, PROTO_TCP) : parse_tcp;
            default : accept;
        }
    }
    state parse_ipv6 {
        packet.extract(headers.ipv6);
        transition select(headers.ipv6.version, headers.ipv6.next) {
            (6, PROTO_UDP) : parse_udp;
            (6, PROTO_TCP) : parse_tcp;
            (6, PROTO_ICMPV6) : parse_icmpv6;
            default : accept;
        }
    }
    state parse_icmpv6 {
        packet.extract(headers.icmpv6);
        transition accept;
    }
    state parse_udp {
        packet.extract(headers.udp);
        transition parse_rank;
    }
    state parse_tcp {
        packet.extract(headers.tcp);
        transition select(headers.tcp.words) {
            5 : parse_rank;
            6 .. 15 : parse_tcp_options;
            default : accept;
        }
    }
    state parse_tcp_options {
        packet.extract(headers.tcp_options, ((bit<32>)headers.tcp.words - 5) << 5);
        transition parse_rank;
    }
    state parse_rank {
#if PF_CARRIES
        packet.extract(headers.carried);
#endif
        transition accept;
    }
}

control PfVerifyChecksum(inout headers_t headers, inout metadata_t meta) {
    apply {}
}

// The kind of a frame for the scheduler, as in the Linux data plane.
#define KIND_IP 2w0
#define KIND_NEIGHBOUR 2w1
#define KIND_OTHER 2w2

control Rank(in headers_t headers, in bit<32> frame_bytes, in bit<64> now, out bit<2> kind, out bool ranked, out bit<64> rank, out bit<32> flow) {
    apply {
        flow = 0;
        // 32 bits: no sum of lengths overflows.
        bit<32> network = ETHERNET_BYTES;
        bit<32> transport = 0;
        bit<32> end = frame_bytes;
        bit<32> length = 0;
        bit<16> ether = headers.ethernet.ether;
        kind = KIND_OTHER;
        ranked = false;
        rank = 0;
        if (headers.outer_tag.isValid()) {
            network = network + VLAN_BYTES;
            ether = headers.outer_tag.ether;
        }
        if (headers.inner_tag.isValid()) {
            network = network + VLAN_BYTES;
            ether = headers.inner_tag.ether;
        }
        if (!headers.ethernet.isValid()) {
            ether = 0;
        }
        if (ether == ETHER_ARP) {
            kind = KIND_NEIGHBOUR;
        }
        if (headers.ipv4.isValid() && headers.ipv4.version == 4 && headers.ipv4.words >= 5) {
            bit<32> header_bytes = (bit<32>)headers.ipv4.words << 2;
            length = (bit<32>)headers.ipv4.length;
            transport = network + header_bytes;
            // A truncated header, or one longer than its packet, is no IP header. A packet that is segmented later has
            // a length of 0.
            if (transport <= frame_bytes && (length == 0 || length >= header_bytes)) {
                kind = KIND_IP;
                if (length != 0 && network + length < frame_bytes) { end = network + length; }
#if PF_RANK == RANK_DSCP
                rank = (bit<64>)headers.ipv4.dscp;
                ranked = true;
#endif
            }
        }
        if (headers.ipv6.isValid() && headers.ipv6.version == 6) {
            length = (bit<32>)headers.ipv6.length;
            transport = network + IPV6_BYTES;
            kind = KIND_IP;
            if (length != 0 && transport + length < frame_bytes) { end = transport + length; }
            // Neighbour discovery comes from this link: a router would have lowered its hop limit (RFC 4861).
            if (headers.icmpv6.isValid() && headers.ipv6.hops == 255 && headers.icmpv6.type >= 133 && headers.icmpv6.type <= 137) {
                kind = KIND_NEIGHBOUR;
            }
#if PF_RANK == RANK_DSCP
            if (kind == KIND_IP) {
                rank = (bit<64>)headers.ipv6.dscp;
                ranked = true;
            }
#endif
        }
#if PF_RANK == RANK_VLAN
        if (kind == KIND_IP && headers.outer_tag.isValid()) {
            // Priority 1 (background) comes after 0 (best effort), as in IEEE 802.1Q.
            rank = 7 - (bit<64>)headers.outer_tag.priority;
            if (headers.outer_tag.priority <= 1) { rank = 6 + (bit<64>)headers.outer_tag.priority; }
            ranked = true;
        }
#elif PF_OF_FLOWS
        if (kind == KIND_IP) {
            bit<16> source = headers.udp.source;
            bit<16> destination = headers.udp.destination;
            bit<8> protocol = PROTO_UDP;
            if (headers.tcp.isValid()) {
                source = headers.tcp.source;
                destination = headers.tcp.destination;
                protocol = PROTO_TCP;
            } else if (!headers.udp.isValid()) {
                source = 0;
                destination = 0;
                protocol = headers.ipv4.protocol;
            }
            if (headers.ipv4.isValid()) {
                hash(flow, HashAlgorithm.crc32, 32w0, { headers.ipv4.source, headers.ipv4.destination, protocol, source, destination }, (bit<32>)PF_FLOWS);
            } else {
                hash(flow, HashAlgorithm.crc32, 32w0, { headers.ipv6.source, headers.ipv6.destination, headers.ipv6.next, source, destination }, (bit<32>)PF_FLOWS);
            }
            bit<64> finish;
            bit<64> first;
            finishes.read(finish, flow);
            served.read(first, 0);
#if PF_RANK == RANK_AFQ
            first = first << PF_AFQ_ROUND;
#endif
            if (finish < first) { finish = first; }
            rank = finish;
#if PF_RANK == RANK_AFQ
            rank = (finish + (bit<64>)frame_bytes) >> PF_AFQ_ROUND;
#endif
            ranked = true;
        }
#elif PF_CARRIES
        // The packet ends where its header says: Ethernet's padding carries no rank.
        if (kind == KIND_IP && headers.carried.isValid()) {
            bit<32> behind = transport + UDP_BYTES;
            if (headers.tcp.isValid()) { behind = transport + ((bit<32>)headers.tcp.words << 2); }
            if (behind + PF_RANK_BYTES <= end) {
                rank = (bit<64>)headers.carried.rank;
                ranked = true;
#if PF_RANK == RANK_FIFO_PLUS
                // A wait beyond the mean is signed; a packet expected before the clock began has rank 0.
                rank = now - rank;
                if (rank[63:63] == 1) { rank = 0; }
#else
#if PF_RANK == RANK_LSTF
                rank = now |+| rank;
#endif
                // The largest rank is 2^63 - 1.
                if (rank[63:63] == 1) { rank = 64w0x7FFFFFFFFFFFFFFF; }
#endif
            }
        }
#endif
    }
}

control PfIngress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    Rank() rank_of;
    Decide() decide;

    // Sends a packet into a queue, and books scheduled packets.
    action enqueue(bit<8> queue, bit<64> units) {
        bit<64> sent;
        entered.read(sent, (bit<32>)queue);
        sent = sent + units;
        entered.write((bit<32>)queue, sent);
        meta.scheduled = 1;
        meta.queue = queue;
        meta.ticket = sent;
        standard.priority = PF_PRIORITY(queue);
    }

    apply {
        bit<2> kind;
        bool ranked;
        bit<64> rank;
        bit<32> flow;
        bit<32> bytes = standard.packet_length;
        decision_t decision;
        decision.queue = 0;
        decision.verdict = ADMITTED;
        standard.priority = PF_PRIORITY(8w0);
        standard.egress_spec = standard.ingress_port ^ 1;
        rank_of.apply(headers, bytes, (bit<64>)standard.ingress_global_timestamp, kind, ranked, rank, flow);
        bool scheduled = standard.egress_spec == OUTER_PORT;
#ifdef PF_HARNESS
        if (headers.test.isValid()) {
            rank = headers.test.rank;
            bytes = headers.test.bytes;
            ranked = headers.test.kind == TEST_DECIDE || headers.test.kind == TEST_ENQUEUE;
            scheduled = ranked;
            standard.egress_spec = standard.ingress_port;
        }
#endif
        if (ranked && scheduled) {
            decide.apply(rank, bytes, decision);
            if (decision.verdict != ADMITTED) {
                mark_to_drop(standard);
            } else {
#ifdef PF_HARNESS
                if (!headers.test.isValid() || headers.test.kind == TEST_ENQUEUE)
#endif
                {
                    enqueue(decision.queue, PF_UNITS(bytes));
#if PF_OF_FLOWS
                    bit<64> finish = rank;
#if PF_RANK == RANK_AFQ
                    // Recomputes the bid whose round is the rank.
                    bit<64> first;
                    finishes.read(finish, flow);
                    served.read(first, 0);
                    first = first << PF_AFQ_ROUND;
                    if (finish < first) { finish = first; }
#endif
                    finishes.write(flow, finish + (bit<64>)bytes);
                    meta.rank = rank;
#endif
                }
            }
        } else if (kind != KIND_NEIGHBOUR && scheduled) {
            // Packets without a rank take no part in the algorithm and go behind all others.
            decision.queue = PF_LAST_QUEUE;
            enqueue(decision.queue, PF_UNITS(bytes));
        }
#ifdef PF_HARNESS
        bit<32> place = 0;
        bit<64> result = 0;
        if (!headers.test.isValid()) {
            // The kinds of frames in order of arrival. BMv2 does not check the index of a register write.
            frames.read(place, 0);
            if (place < FRAMES_UNDERSTOOD) {
                frames.write(0, place + 1);
                understood.write(place, 5w0 ++ (bit<1>)ranked ++ kind ++ decision.verdict ++ decision.queue ++ rank);
            }
        } else if (headers.test.kind == TEST_DECIDE) {
            // The answer goes back, whatever the decision.
            headers.test.queue = decision.queue;
            headers.test.verdict = decision.verdict;
            standard.egress_spec = standard.ingress_port;
        } else if (headers.test.kind == TEST_SET_USED) {
#ifdef PF_OCCUPANCY_GHOST
            departed.write((bit<32>)headers.test.queue, headers.test.value);
#else
            entered.write((bit<32>)headers.test.queue, headers.test.value);
#endif
            mark_to_drop(standard);
        } else if (headers.test.kind == TEST_ENQUEUE) {
            results.write(headers.test.id, decision.verdict ++ decision.queue);
        } else if (headers.test.kind == TEST_FILLER) {
            standard.priority = PF_PRIORITY(headers.test.queue);
            if (headers.test.flags == 1) { standard.egress_spec = OUTER_PORT; }
        } else if (headers.test.kind == TEST_READ) {
            bit<16> found;
            results.read(found, headers.test.id);
            headers.test.verdict = found[15:8];
            headers.test.queue = found[7:0];
        } else if (headers.test.kind == TEST_READ_FRAME) {
            bit<88> frame;
            understood.read(frame, headers.test.id);
            headers.test.rank = frame[63:0];
            headers.test.queue = frame[71:64];
            headers.test.verdict = frame[79:72];
            headers.test.flags = frame[87:80];
        }
#endif
    }
}

control PfEgress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (meta.scheduled == 1) {
#ifdef PF_OCCUPANCY_GHOST
            departed.write((bit<32>)meta.queue, (bit<64>)standard.deq_qdepth);
#else
            departed.write((bit<32>)meta.queue, meta.ticket);
#endif
#if PF_OF_FLOWS
            bit<64> largest;
            served.read(largest, 0);
            if (largest < meta.rank) { served.write(0, meta.rank); }
#elif PF_RANK == RANK_LSTF
            if (headers.carried.isValid()) {
                headers.carried.rank = headers.carried.rank |-| (bit<64>)standard.deq_timedelta;
            }
#elif PF_RANK == RANK_FIFO_PLUS
            if (headers.carried.isValid()) {
                bit<64> sixteen;
                waits.read(sixteen, 0);
                bit<64> mean = sixteen >> 4;
                headers.carried.rank = headers.carried.rank + (bit<64>)standard.deq_timedelta - mean;
                waits.write(0, sixteen - mean + (bit<64>)standard.deq_timedelta);
            }
#endif
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

#endif
