// SPDX-License-Identifier: Apache-2.0
// Forwarding for the examples: one table of IPv4 prefixes. Where several links lead on, a hash of the flow picks one of consecutive ports.
#ifndef PF_ROUTE
#define PF_ROUTE

// Without entries the switch is a bump in the wire: what comes in on an even port leaves through the odd one above it, and the other way
// round.
control PfRoute(in ipv4_t ipv4, in udp_t udp, inout standard_metadata_t standard) {
    action bump() {
        standard.egress_spec = standard.ingress_port ^ 1;
    }
    action drop() {
        mark_to_drop(standard);
    }
    action to_port(bit<9> port) {
        standard.egress_spec = port;
    }
    action spread(bit<9> first, bit<16> count) {
        bit<16> choice;
        hash(choice, HashAlgorithm.crc16, 16w0,
             { ipv4.source, ipv4.destination, ipv4.protocol, udp.source, udp.destination }, count);
        standard.egress_spec = first + (bit<9>)choice;
    }
    table route {
        key = { ipv4.destination : lpm; }
        actions = { bump; drop; to_port; spread; }
        default_action = bump();
    }
    apply {
        route.apply();
    }
}

#endif
