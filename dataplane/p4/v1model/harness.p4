// SPDX-License-Identifier: Apache-2.0
// The interface for tests (PF_HARNESS): frames of a local experimental EtherType that carry their rank, write
// occupancies like a control plane, and read decisions back. Programs that forward traffic do not have it.
#ifndef PF_HARNESS_P4
#define PF_HARNESS_P4

#define ETHER_TEST 16w0x88B5

#define TEST_DECIDE 0       // rank in, queue out: nothing is stored
#define TEST_SET_USED 1     // the queue `queue` holds `value` units
#define TEST_ENQUEUE 2      // decides and stores, and keeps the decision under `id`
#define TEST_FILLER 3       // into the queue `queue`, undecided; with `flags` 1 of the outer port
#define TEST_READ 4         // the decision under `id`
#define TEST_READ_FRAME 5   // how the frame number `id` was understood

header test_t {
    bit<8> kind;
    bit<8> queue;
    bit<8> verdict;
    bit<8> flags;
    bit<32> id;
    bit<64> rank;
    bit<32> bytes;
    bit<64> value;
}

#define FRAMES_UNDERSTOOD 32w1024

register<bit<16>>(65536) results;
register<bit<32>>(1) frames;
register<bit<88>>(1024) understood;

#endif
