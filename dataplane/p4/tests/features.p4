// SPDX-License-Identifier: Apache-2.0
// What the interpreter of compiled programs has beyond the schedulers: header unions and stacks of them, elements of
// stacks at computed indices, fields of variable length in stacks, and loops. test_p4_features.py has a model of it.
#include <core.p4>
#include <v1model.p4>

header request_t {
    bit<8> kind;
    bit<8> index;
    bit<8> rounds;
    bit<8> value;
}

header one_t {
    bit<8> a;
}

header two_t {
    bit<16> b;
}

header_union choice_t {
    one_t one;
    two_t two;
}

header cell_t {
    bit<8> value;
}

header name_t {
    bit<8>     bytes;
    varbit<64> text;
}

header answer_t {
    bit<8> sum;
    bit<8> read;
    bit<8> same;
    bit<8> chosen;
}

struct headers_t {
    request_t   request;
    choice_t    choice;
    choice_t[2] more;
    cell_t[4]   cells;
    name_t[2]   names;
    answer_t    answer;
}

struct metadata_t {
    bit<8> sum;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.request);
        transition select(hdr.request.kind[0:0]) {
            0: first_one;
            default: first_two;
        }
    }
    state first_one {
        packet.extract(hdr.choice.one);
        transition more;
    }
    state first_two {
        packet.extract(hdr.choice.two);
        transition more;
    }
    state more {
        packet.extract(hdr.more.next.one);
        packet.extract(hdr.more.next.two);
        packet.extract(hdr.cells.next);
        packet.extract(hdr.cells.next);
        packet.extract(hdr.cells.next);
        packet.extract(hdr.cells.next);
        packet.extract(hdr.names.next, (bit<32>) packet.lookahead<bit<8>>() << 3);
        packet.extract(hdr.names.next, (bit<32>) packet.lookahead<bit<8>>() << 3);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TakeIn(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action add() {
        for (bit<8> i = 0; i < hdr.request.rounds; i = i + 1) {
            meta.sum = meta.sum + hdr.request.value;
            if (meta.sum > 200) {
                break;
            }
        }
    }
    apply {
        if (standard.parser_error != error.NoError) {
            mark_to_drop(standard);
            exit;
        }
        standard.egress_spec = 1;
        hdr.answer.setValid();
        meta.sum = 0;
        add();
        hdr.answer.sum = meta.sum;
        hdr.cells[(hdr.request.index & 3)].value = meta.sum;
        hdr.answer.read = hdr.cells[((hdr.request.index >> 2) & 3)].value;
        hdr.answer.same = 0;
        if (hdr.names[0].text == hdr.names[1].text) {
            hdr.answer.same = 1;
        }
        if (hdr.request.kind[1:1] == 1) {
            hdr.choice.one.setValid();
            hdr.choice.one.a = hdr.request.value;
        }
        if (hdr.request.kind[2:2] == 1) {
            hdr.cells[(hdr.request.index & 3)].setInvalid();
        }
        if (hdr.request.kind[3:3] == 1) {
            hdr.choice.two = hdr.more[1].two;
        }
        if (hdr.request.kind[4:4] == 1) {
            hdr.choice.one.setInvalid();
        }
        if (hdr.request.kind[5:5] == 1) {
            hdr.names[0] = hdr.names[1];
        }
        hdr.answer.chosen = 7w0 ++ (bit<1>) hdr.choice.isValid();
    }
}

control LetOut(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(Parse(), Verify(), TakeIn(), LetOut(), Compute(), Deparse()) main;
