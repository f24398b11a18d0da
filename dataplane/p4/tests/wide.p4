// SPDX-License-Identifier: Apache-2.0
// For tests of the interpreter: values of more than 126 bits ahead of the parser and in stacks, keys at computed indices,
// stacks of unions that move, a statement in the deparser.
#include <core.p4>
#include <v1model.p4>

header request_t {
    bit<8> elements;
    bit<8> from;
    bit<8> to;
    bit<8> answer;
}

header element_t {
    bit<256> wide;
    bit<8> short;
}

header one_t {
    bit<8> kind;
}

header two_t {
    bit<16> value;
}

header_union either_t {
    one_t one;
    two_t two;
}

struct headers_t {
    request_t request;
    element_t[3] elements;
    either_t[2] unions;
    either_t[2] copies;
    either_t[3] triples;
}

struct metadata_t {
    bit<256> ahead;
    bit<2> from;
    bit<2> to;
}

parser WideParser(packet_in packet, out headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.request);
        meta.ahead = packet.lookahead<bit<256>>();
        transition next_element;
    }
    state next_element {
        packet.extract(headers.elements.next);
        transition select(headers.elements.last.short, packet.lookahead<bit<160>>()[159:152]) {
            (0, _) : next_element;
            (1, 0) : next_element;
            default : first_union;
        }
    }
    state first_union {
        packet.extract(headers.unions.next.one);
        transition select(headers.request.answer) {
            0 &&& 1 : accept;
            default : second_union;
        }
    }
    state second_union {
        packet.extract(headers.unions.next.two);
        transition select(headers.request.from) {
            64 &&& 64 : first_triple;
            default : accept;
        }
    }
    state first_triple {
        packet.extract(headers.triples.next.one);
        transition second_triple;
    }
    state second_triple {
        packet.extract(headers.triples.next.two);
        transition select(headers.request.from) {
            32 &&& 32 : third_triple;
            default : accept;
        }
    }
    state third_triple {
        packet.extract(headers.triples.next.one);
        transition accept;
    }
}

control WideVerify(inout headers_t headers, inout metadata_t meta) {
    apply {}
}

control WideIngress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    action answer(bit<8> value) {
        headers.request.answer = value;
    }
    table answers {
        key = {
            headers.elements[meta.from].short : exact;
            headers.elements[meta.to].wide : ternary;
        }
        actions = { answer; NoAction; }
        const entries = {
            (2, _) : answer(10);
            (3, 0 &&& 1 << 255) : answer(11);
            (3, _) : answer(12);
        }
        const default_action = NoAction();
    }
    apply {
        // A packet that ends before its elements is dropped.
        if (standard.parser_error != error.NoError) {
            mark_to_drop(standard);
        } else {
            standard.egress_spec = 1;
            meta.from = (bit<2>)headers.request.from;
            meta.to = (bit<2>)headers.request.to;
            if (meta.from == 3) { meta.from = 0; }
            if (meta.to == 3) { meta.to = 0; }
            if (headers.elements[meta.from].isValid() && headers.elements[meta.to].isValid()) {
                answers.apply();
                if (headers.request.from[7:7] == 1) {
                    headers.elements[meta.to] = headers.elements[meta.from];
                } else {
                    headers.elements[meta.to].wide = headers.elements[meta.from].wide ^ meta.ahead;
                }
                if (headers.elements[meta.to].wide == 0) { headers.request.answer = 99; }
            }
            if (headers.request.to[7:7] == 1) { headers.copies = headers.unions; }
            if (headers.request.to[6:6] == 1) { headers.unions.push_front(1); }
            if (headers.request.to[5:5] == 1) { headers.unions.pop_front(1); }
            if (headers.request.from[4:4] == 1) { headers.triples.push_front(1); }
            if (headers.request.from[3:3] == 1) { headers.triples.pop_front(1); }
        }
    }
}

control WideEgress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control WideCompute(inout headers_t headers, inout metadata_t meta) {
    apply {}
}

control WideDeparser(packet_out packet, in headers_t headers) {
    apply {
        log_msg("answer {}", {headers.request.answer});
        packet.emit(headers);
    }
}

V1Switch(WideParser(), WideVerify(), WideIngress(), WideEgress(), WideCompute(), WideDeparser()) main;
