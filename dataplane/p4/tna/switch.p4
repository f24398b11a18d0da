// SPDX-License-Identifier: Apache-2.0
// The switch around a decision, for Tofino (TNA) and Tofino 2 (T2NA): the frames of each port go to the port beside it.
//
// Ingress cannot read the occupancy of a queue. On Tofino 2 the ghost thread writes the depth of each queue into a
// register. On Tofino a register of egress holds the depth at the last departure, and packets of a generator carry it
// through the recirculation port into ingress, as in AIFO's prototype: a depth is as old as such a cycle.
// PF_READS_DEPTHS says that a program needs it.
#ifndef PF_SWITCH_P4
#define PF_SWITCH_P4

#if defined(PF_READS_DEPTHS) && __TARGET_TOFINO__ == 1
#define PF_DEPTHS_GO_ROUND 1
#else
#define PF_DEPTHS_GO_ROUND 0
#endif

struct nothing_t {
}

parser PfIngressParser(packet_in packet, out headers_t headers, out metadata_t meta, out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        meta.rank = 0;
        meta.ranked = 0;
        meta.again = 0;
        transition select(intrinsic.resubmit_flag) {
#ifdef PF_RESUBMITS
            1 : parse_resubmitted;
#endif
            default : parse_port;
        }
    }
#ifdef PF_RESUBMITS
    state parse_resubmitted {
        packet.extract(meta.resubmitted);
        meta.again = 1;
        transition parse_ethernet;
    }
#endif
    state parse_port {
        packet.advance(PORT_METADATA_SIZE);
#if PF_DEPTHS_GO_ROUND
        transition select(intrinsic.ingress_port) {
            RECIRCULATION_PORT : parse_depth;
            default : parse_ethernet;
        }
    }
    state parse_depth {
        packet.extract(headers.depth);
        transition accept;
    }
#else
        transition parse_ethernet;
    }
#endif
    state parse_ethernet {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether) {
            ETHER_VLAN : parse_outer_tag;
            ETHER_QINQ : parse_outer_tag;
            ETHER_IPV4 : parse_ipv4;
            ETHER_IPV6 : parse_ipv6;
            default : accept;
        }
    }
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
    // Headers with options and fragments have no transport header here.
    state parse_ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.version, headers.ipv4.words, headers.ipv4.more_fragments, headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (4, 5, 0, 0, PROTO_UDP) : parse_udp;
            default : accept;
        }
    }
    state parse_ipv6 {
        packet.extract(headers.ipv6);
        transition select(headers.ipv6.version, headers.ipv6.next) {
            (6, PROTO_UDP) : parse_udp;
            default : accept;
        }
    }
    state parse_udp {
        packet.extract(headers.udp);
#if PF_RANK == RANK_PAYLOAD
        // A datagram that ends before its rank has none, whatever the padding of its frame.
        transition select(headers.udp.length) {
            0 &&& 0xFFF8 : accept;
#if PF_RANK_BYTES == 1
            8 : accept;
#elif PF_RANK_BYTES == 2
            8 &&& 0xFFFE : accept;
#elif PF_RANK_BYTES == 4
            8 &&& 0xFFFC : accept;
#else
            8 &&& 0xFFF8 : accept;
#endif
            default : parse_rank;
        }
#else
        transition accept;
#endif
    }
#if PF_RANK == RANK_PAYLOAD
    state parse_rank {
        packet.extract(headers.carried);
        transition accept;
    }
#endif
}

control PfIngress(
    inout headers_t headers,
    inout metadata_t meta,
    in ingress_intrinsic_metadata_t intrinsic,
    in ingress_intrinsic_metadata_from_parser_t from_parser,
    inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
    inout ingress_intrinsic_metadata_for_tm_t to_manager
#if __TARGET_TOFINO__ == 2
    , in ghost_intrinsic_metadata_t ghost
#endif
) {
    Decide() decide;

#if PF_RANK == RANK_DSCP
    // An added rank needs a whole container, which six bits of a header cannot have: an identity hash moves it another
    // way.
#ifdef PF_ADDS_RANKS
    Hash<bit<PF_RANK_BITS>>(HashAlgorithm_t.IDENTITY) as_hash_4;
    Hash<bit<PF_RANK_BITS>>(HashAlgorithm_t.IDENTITY) as_hash_6;
#define PF_WIDEN(hash, dscp) hash.get({ dscp })
#else
#define PF_WIDEN(hash, dscp) (bit<PF_RANK_BITS>)dscp
#endif
    action of_ipv4() {
        meta.rank = PF_WIDEN(as_hash_4, headers.ipv4.dscp);
        meta.ranked = 1;
    }
    action of_ipv6() {
        meta.rank = PF_WIDEN(as_hash_6, headers.ipv6.dscp);
        meta.ranked = 1;
    }
#ifdef PF_RESUBMITS
    action of_resubmitted() {
        meta.rank = meta.resubmitted.cost;
        meta.ranked = 1;
    }
#endif
    table rank_of {
        key = {
            meta.again : ternary;
            headers.ipv4.isValid() : ternary;
            headers.ipv4.version : ternary;
            headers.ipv4.words : ternary;
            headers.ipv6.isValid() : ternary;
            headers.ipv6.version : ternary;
        }
        actions = {
            of_ipv4;
            of_ipv6;
#ifdef PF_RESUBMITS
            of_resubmitted;
#endif
            NoAction;
        }
        const default_action = NoAction;
        const entries = {
#ifdef PF_RESUBMITS
            (1, _, _, _, _, _) : of_resubmitted();
#endif
            // Its header has five words at least.
            (0, true, 4, 5, _, _) : of_ipv4();
            (0, true, 4, 6 &&& 0xE, _, _) : of_ipv4();
            (0, true, 4, 8 &&& 0x8, _, _) : of_ipv4();
            (0, _, _, _, true, 6) : of_ipv6();
        }
        size = 8;
    }
#endif

    apply {
        decision_t decision;
        decision.queue = PF_LAST_QUEUE;
        decision.drop = 0;
        decision.resubmit = 0;
        to_manager.ucast_egress_port = intrinsic.ingress_port ^ 1;
#if PF_RANK == RANK_DSCP
        rank_of.apply();
#elif PF_RANK == RANK_PAYLOAD
        // A datagram does not extend beyond its packet, where its rank would be padding.
        bit<16> payload = headers.ipv6.length;
        if (headers.ipv4.isValid()) { payload = headers.ipv4.length |-| IPV4_BYTES; }
        bit<16> beyond = headers.udp.length |-| payload;
        if (headers.carried.isValid() && beyond == 0) {
            meta.rank = (bit<PF_RANK_BITS>)headers.carried.rank;
            meta.ranked = 1;
#ifdef PF_SIGNED_RANKS
            if (headers.carried.rank[31:31] == 1) { meta.rank = 0x7FFFFFFF; }
#endif
        }
#ifdef PF_RESUBMITS
        if (meta.again == 1) { meta.rank = meta.resubmitted.cost; }
#endif
#else
#error "PF_RANK: expected RANK_DSCP or RANK_PAYLOAD on Tofino"
#endif
        if (headers.depth.isValid()) {
            // Recirculates for the next depth.
            to_manager.ucast_egress_port = RECIRCULATION_PORT;
        }
        if (meta.ranked == 1 || headers.depth.isValid()) {
            decide.apply(headers, meta, decision);
        }
        to_manager.qid = (QueueId_t)decision.queue;
        to_deparser.drop_ctl = decision.drop;
        to_deparser.resubmit_type = decision.resubmit;
    }
}

control PfIngressDeparser(
    packet_out packet,
    inout headers_t headers,
    in metadata_t meta,
    in ingress_intrinsic_metadata_for_deparser_t to_deparser
) {
#ifdef PF_RESUBMITS
    Resubmit(1) resubmit;
#endif
    apply {
#ifdef PF_RESUBMITS
        if (to_deparser.resubmit_type == 1) {
            resubmit.emit(meta.resubmitted);
        }
#endif
        packet.emit(headers);
    }
}

struct egress_headers_t {
    depth_t depth;
}

parser PfEgressParser(packet_in packet, out egress_headers_t headers, out nothing_t meta, out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
#if PF_DEPTHS_GO_ROUND
        transition select(intrinsic.egress_port) {
            RECIRCULATION_PORT : parse_depth;
            default : accept;
        }
    }
    state parse_depth {
        packet.extract(headers.depth);
        transition accept;
    }
#else
        transition accept;
    }
#endif
}

control PfEgress(
    inout egress_headers_t headers,
    inout nothing_t meta,
    in egress_intrinsic_metadata_t intrinsic,
    in egress_intrinsic_metadata_from_parser_t from_parser,
    inout egress_intrinsic_metadata_for_deparser_t to_deparser,
    inout egress_intrinsic_metadata_for_output_port_t to_port
) {
#if PF_DEPTHS_GO_ROUND
    Register<bit<16>, bit<5>>(32, 0) last_depth;
    RegisterAction<bit<16>, bit<5>, bit<16>>(last_depth) keep = {
        void apply(inout bit<16> depth) {
            depth = (bit<16>)intrinsic.deq_qdepth;
        }
    };
    RegisterAction<bit<16>, bit<5>, bit<16>>(last_depth) tell = {
        void apply(inout bit<16> depth, out bit<16> told) {
            told = depth;
        }
    };
#endif
    apply {
#if PF_DEPTHS_GO_ROUND
        if (headers.depth.isValid()) {
            headers.depth.units = tell.execute((bit<5>)headers.depth.queue);
        } else {
            keep.execute((bit<5>)intrinsic.egress_qid);
        }
#endif
    }
}

control PfEgressDeparser(
    packet_out packet,
    inout egress_headers_t headers,
    in nothing_t meta,
    in egress_intrinsic_metadata_for_deparser_t to_deparser
) {
    apply {
        packet.emit(headers);
    }
}

Pipeline(PfIngressParser(), PfIngress(), PfIngressDeparser(), PfEgressParser(), PfEgress(), PfEgressDeparser()
#if __TARGET_TOFINO__ == 2
    , PfGhost()
#endif
) pipe;

Switch(pipe) main;

#endif
