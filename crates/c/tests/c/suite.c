/* Tests of the C library: run under sanitizers by `cargo test`. */
#include "pifolab_sched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tests;

#define CHECK(condition)                                                                            \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            fprintf(stderr, "%s:%d: not true: %s (%s)\n", __FILE__, __LINE__, #condition,           \
                    pifolab_error());                                                               \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)

static pifolab_scheduler *made(const char *name, const char *params)
{
    pifolab_scheduler *scheduler = NULL;
    pifolab_status status = pifolab_new(name, params, NULL, NULL, &scheduler);
    CHECK(status == PIFOLAB_OK && scheduler != NULL);
    return scheduler;
}

static pifolab_packet packet(uint64_t index, uint64_t rank)
{
    pifolab_packet made_one = {index, rank, 0, 1500};
    return made_one;
}

/* Section 2 of PACKS's paper: ranks 1 4 5 2 1 2 at a PIFO of four packets send 1 1 2 2. */
static void the_papers_example(void)
{
    pifolab_scheduler *pifo = made("pifo", "capacity_packets = 4");
    const uint64_t ranks[] = {1, 4, 5, 2, 1, 2};
    pifolab_packet offered_packets[6], out[PIFOLAB_BURST];
    pifolab_lost lost[PIFOLAB_BURST];
    int32_t queues[6];
    uint32_t offered, count, lost_count;
    uint64_t not_before;
    for (uint32_t i = 0; i < 6; i++)
        offered_packets[i] = packet(100 + i, ranks[i]);
    CHECK(pifolab_enqueue(pifo, offered_packets, 6, 0, queues, &offered, lost, PIFOLAB_BURST, &lost_count) == PIFOLAB_OK);
    CHECK(offered == 6 && lost_count == 2);
    CHECK(lost[0].packet.index == 102 && lost[0].reason == PIFOLAB_PUSHED_OUT);
    CHECK(lost[1].packet.index == 101 && lost[1].reason == PIFOLAB_PUSHED_OUT);
    CHECK(pifolab_packets(pifo) == 4 && pifolab_bytes(pifo) == 6000 && pifolab_queues(pifo) == 1);
    CHECK(pifolab_dequeue(pifo, out, PIFOLAB_BURST, 5, queues, &count, lost, PIFOLAB_BURST, &lost_count, &not_before) == PIFOLAB_OK);
    CHECK(count == 4 && lost_count == 0 && not_before == 0);
    const uint64_t order[] = {100, 104, 103, 105};
    for (uint32_t i = 0; i < 4; i++)
        CHECK(out[i].index == order[i] && queues[i] == 0);
    CHECK(pifolab_packets(pifo) == 0);
    pifolab_free(pifo);
}

/* Every packet that goes in comes out once: sent, refused or pushed out; with every scheduler, in bursts of all sizes, with small
 * arrays for what is lost. */
static void packets_are_conserved(void)
{
    enum { PACKETS = 20000 };
    unsigned char *seen = malloc(PACKETS);
    const char *name;
    CHECK(seen != NULL);
    for (uint32_t number = 0; (name = pifolab_scheduler_name(number)) != NULL; number++) {
        pifolab_scheduler *scheduler = NULL;
        pifolab_status status = pifolab_new(name, NULL, NULL, NULL, &scheduler);
        if (status != PIFOLAB_OK) /* some have a parameter without a default, such as bounds */
            continue;
        memset(seen, 0, PACKETS);
        uint64_t state = 1, next = 0, now = 0;
        while (next < PACKETS || pifolab_packets(scheduler) > 0) {
            pifolab_packet packets[PIFOLAB_BURST];
            pifolab_lost lost[3];
            uint32_t count = 0, done = 0, lost_count, room = 1 + (uint32_t)(next % 3);
            uint64_t not_before;
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint32_t burst = (uint32_t)(state >> 40) % (PIFOLAB_BURST + 1);
            while (count < burst && next + count < PACKETS) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                pifolab_packet one = {next + count, (state >> 33) % 100, (uint32_t)(state >> 50) % 7,
                                      40 + (uint32_t)(state >> 44) % 1460};
                packets[count++] = one;
            }
            next += count;
            now += 1000000;
            while (done < count) {
                uint32_t offered;
                CHECK(pifolab_enqueue(scheduler, packets + done, count - done, now, NULL, &offered, lost, room, &lost_count) == PIFOLAB_OK);
                for (uint32_t i = 0; i < lost_count; i++)
                    CHECK(seen[lost[i].packet.index]++ == 0);
                CHECK(offered > 0 || lost_count == room);
                done += offered;
            }
            CHECK(pifolab_dequeue(scheduler, packets, burst / 2 + 1, now, NULL, &count, lost, room, &lost_count, &not_before) == PIFOLAB_OK);
            for (uint32_t i = 0; i < lost_count; i++)
                CHECK(seen[lost[i].packet.index]++ == 0);
            for (uint32_t i = 0; i < count; i++)
                CHECK(seen[packets[i].index]++ == 0);
        }
        pifolab_lost lost[3];
        uint32_t offered, lost_count;
        do { /* what is pending comes with the next calls */
            CHECK(pifolab_enqueue(scheduler, NULL, 0, now, NULL, &offered, lost, 3, &lost_count) == PIFOLAB_OK);
            for (uint32_t i = 0; i < lost_count; i++)
                CHECK(seen[lost[i].packet.index]++ == 0);
        } while (lost_count > 0);
        for (uint32_t i = 0; i < PACKETS; i++)
            if (seen[i] != 1) {
                fprintf(stderr, "%s: packet %u came back %u times\n", name, i, seen[i]);
                exit(1);
            }
        pifolab_free(scheduler);
    }
    free(seen);
}

/* One packet pushes out many where capacities are in bytes; with room for one, the others come with the next calls. */
static void many_victims_of_one_packet(void)
{
    pifolab_scheduler *pifo = made("pifo", "capacity_bytes = 1000");
    pifolab_packet small[10], big = {99, 0, 0, 1000};
    pifolab_lost lost[10];
    uint32_t offered, lost_count, total = 0;
    for (uint32_t i = 0; i < 10; i++) {
        pifolab_packet one = {i, 5, 0, 100};
        small[i] = one;
    }
    CHECK(pifolab_enqueue(pifo, small, 10, 0, NULL, &offered, lost, 10, &lost_count) == PIFOLAB_OK && offered == 10 && lost_count == 0);
    CHECK(pifolab_enqueue(pifo, &big, 1, 0, NULL, &offered, lost, 1, &lost_count) == PIFOLAB_OK && offered == 1 && lost_count == 1);
    total += lost_count;
    do {
        CHECK(pifolab_enqueue(pifo, NULL, 0, 0, NULL, &offered, lost, 4, &lost_count) == PIFOLAB_OK);
        for (uint32_t i = 0; i < lost_count; i++)
            CHECK(lost[i].reason == PIFOLAB_PUSHED_OUT);
        total += lost_count;
    } while (lost_count > 0);
    CHECK(total == 10 && pifolab_packets(pifo) == 1 && pifolab_bytes(pifo) == 1000);
    pifolab_free(pifo);
}

static void rank_functions(void)
{
    pifolab_scheduler *fair = NULL;
    pifolab_packet in[4] = {{0, 77, 1, 1000}, {1, 77, 1, 1000}, {2, 77, 1, 1000}, {3, 77, 2, 1000}}, out[4];
    pifolab_lost lost[4];
    uint32_t offered, count, lost_count;
    CHECK(pifolab_new("pifo", "", "stfq", "", &fair) == PIFOLAB_OK);
    CHECK(pifolab_enqueue(fair, in, 4, 0, NULL, &offered, lost, 4, &lost_count) == PIFOLAB_OK && offered == 4);
    CHECK(pifolab_dequeue(fair, out, 4, 0, NULL, &count, lost, 4, &lost_count, NULL) == PIFOLAB_OK && count == 4);
    CHECK(out[0].index == 0 && out[1].index == 3 && out[2].index == 1 && out[3].index == 2);
    CHECK(pifolab_forget_flow(fair, 1) == PIFOLAB_OK);
    pifolab_free(fair);
    CHECK(pifolab_new("pifo", "", "flow-size", "", &fair) == PIFOLAB_NEEDS_FACTS && fair == NULL);
    CHECK(pifolab_new("pifo", "", NULL, "scale = 2", &fair) == PIFOLAB_BAD_PARAMETER && fair == NULL);
    CHECK(pifolab_new("pifo", "", "nope", "", &fair) == PIFOLAB_UNKNOWN_NAME && fair == NULL);
}

/* Packets that may not leave yet: the time at which one may. */
static void looking_inside(void)
{
    pifolab_scheduler *packs = made("packs", "queues = 2, queue_capacity_packets = [3, 5], window = 6, k = 1/10");
    uint64_t packets;
    int64_t bound;
    int32_t has_bound, in_bytes;
    CHECK(pifolab_queues(packs) == 2 && pifolab_capacity(packs, &in_bytes) == 8 && in_bytes == 0);
    CHECK(pifolab_queue(packs, 1, &packets, &bound, &has_bound) == PIFOLAB_OK && packets == 0);
    CHECK(pifolab_queue(packs, 2, &packets, &bound, &has_bound) == PIFOLAB_NO_QUEUE);
    CHECK(strstr(pifolab_error(), "queue 2: expected from 0 to 1") != NULL);
    CHECK(pifolab_queue(packs, 0, NULL, NULL, NULL) == PIFOLAB_OK);
    pifolab_free(packs);
    pifolab_scheduler *bytes = made("fifo", "capacity_bytes = 9000");
    CHECK(pifolab_capacity(bytes, &in_bytes) == 9000 && in_bytes == 1);
    pifolab_free(bytes);
}

static void wrong_calls(void)
{
    pifolab_scheduler *scheduler = (pifolab_scheduler *)1;
    pifolab_packet one = packet(0, 0), out[1];
    pifolab_lost lost[1];
    uint32_t offered, count, lost_count;
    CHECK(pifolab_new("pack", "", NULL, NULL, &scheduler) == PIFOLAB_UNKNOWN_NAME && scheduler == NULL);
    CHECK(strstr(pifolab_error(), "did you mean packs?") != NULL);
    CHECK(pifolab_new("packs", "windo = 3", NULL, NULL, &scheduler) == PIFOLAB_BAD_PARAMETER);
    CHECK(strcmp(pifolab_error(), "packs: windo = 3: unknown key; did you mean window?") == 0);
    CHECK(pifolab_new("packs", "k = 1", NULL, NULL, &scheduler) == PIFOLAB_BAD_PARAMETER);
    CHECK(pifolab_new("packs", "window", NULL, NULL, &scheduler) == PIFOLAB_BAD_PARAMETER);
    CHECK(pifolab_new("packs", "\xff", NULL, NULL, &scheduler) == PIFOLAB_NOT_UTF8);
    CHECK(pifolab_new(NULL, "", NULL, NULL, &scheduler) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_new("packs", "", NULL, NULL, NULL) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_enqueue(NULL, &one, 1, 0, NULL, &offered, lost, 1, &lost_count) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_packets(NULL) == 0 && pifolab_bytes(NULL) == 0 && pifolab_queues(NULL) == 0);
    pifolab_free(NULL);

    scheduler = made("packs", NULL);
    CHECK(pifolab_enqueue(scheduler, &one, 65, 0, NULL, &offered, lost, 1, &lost_count) == PIFOLAB_TOO_MANY && offered == 0);
    CHECK(pifolab_enqueue(scheduler, NULL, 1, 0, NULL, &offered, lost, 1, &lost_count) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_enqueue(scheduler, &one, 1, 0, NULL, &offered, NULL, 1, &lost_count) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_enqueue(scheduler, &one, 1, 0, NULL, &offered, lost, 0, &lost_count) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_enqueue(scheduler, &one, 1, 0, NULL, NULL, lost, 1, &lost_count) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_dequeue(scheduler, NULL, 1, 0, NULL, &count, lost, 1, &lost_count, NULL) == PIFOLAB_NULL_POINTER);
    one.rank = PIFOLAB_RANK_MAX + 1;
    CHECK(pifolab_enqueue(scheduler, &one, 1, 7, NULL, &offered, lost, 1, &lost_count) == PIFOLAB_BAD_PACKET);
    one.rank = 0;
    one.flow = PIFOLAB_FLOWS;
    CHECK(pifolab_enqueue(scheduler, &one, 1, 7, NULL, &offered, lost, 1, &lost_count) == PIFOLAB_BAD_PACKET);
    one.flow = 0;
    CHECK(pifolab_enqueue(scheduler, &one, 1, 7, NULL, &offered, lost, 1, &lost_count) == PIFOLAB_OK && offered == 1);
    CHECK(pifolab_dequeue(scheduler, out, 1, 6, NULL, &count, lost, 1, &lost_count, NULL) == PIFOLAB_BAD_TIME && count == 0);
    CHECK(pifolab_dequeue(scheduler, out, 1, UINT64_MAX, NULL, &count, lost, 1, &lost_count, NULL) == PIFOLAB_BAD_TIME);
    CHECK(pifolab_dequeue(scheduler, out, 1, 7, NULL, &count, lost, 1, &lost_count, NULL) == PIFOLAB_OK && count == 1);
    CHECK(pifolab_forget_flow(scheduler, UINT32_MAX) == PIFOLAB_OK);
    pifolab_free(scheduler);
}

static void names_and_version(void)
{
    uint32_t count = 0;
    while (pifolab_scheduler_name(count) != NULL)
        count++;
    CHECK(count >= 12 && strcmp(pifolab_scheduler_name(0), "pifo") == 0);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", PIFOLAB_VERSION_MAJOR, PIFOLAB_VERSION_MINOR, PIFOLAB_VERSION_PATCH);
    CHECK(strcmp(version, pifolab_version()) == 0);
    CHECK(pifolab_scheduler_name(UINT32_MAX) == NULL && pifolab_rank_function_name(0) != NULL);
    CHECK(strchr(pifolab_version(), '.') != NULL);
}

#define RUN(test)                                                                                   \
    do {                                                                                            \
        test();                                                                                     \
        tests++;                                                                                    \
    } while (0)

static void a_clock_that_starts_anew_keeps_the_order(void)
{
    pifolab_scheduler *pifo = made("pifo", "capacity_packets = 10");
    pifolab_packet in[3] = {{1, 5, 0, 100}, {2, 3, 0, 100}, {3, 9, 0, 100}}, out[3];
    pifolab_lost lost[4];
    uint32_t offered, count, lost_count;
    CHECK(pifolab_enqueue(pifo, in, 2, PIFOLAB_TIME_MAX, NULL, &offered, lost, 4, &lost_count) == PIFOLAB_OK);
    CHECK(pifolab_enqueue(pifo, in + 2, 1, 7, NULL, &offered, lost, 4, &lost_count) == PIFOLAB_BAD_TIME);
    CHECK(pifolab_rebase(pifo, PIFOLAB_TIME_MAX + 1) == PIFOLAB_BAD_TIME);
    CHECK(pifolab_rebase(pifo, 5) == PIFOLAB_OK);
    CHECK(pifolab_enqueue(pifo, in + 2, 1, 4, NULL, &offered, lost, 4, &lost_count) == PIFOLAB_BAD_TIME);
    CHECK(pifolab_enqueue(pifo, in + 2, 1, 7, NULL, &offered, lost, 4, &lost_count) == PIFOLAB_OK);
    CHECK(pifolab_dequeue(pifo, out, 3, 7, NULL, &count, lost, 4, &lost_count, NULL) == PIFOLAB_OK);
    CHECK(count == 3 && out[0].index == 2 && out[1].index == 1 && out[2].index == 3);
    pifolab_free(pifo);

    /* What reads the time has to be empty, and begins anew. */
    pifolab_scheduler *shaped = made("pieo", "capacity_packets = 10");
    CHECK(pifolab_enqueue(shaped, in, 1, 1000, NULL, &offered, lost, 4, &lost_count) == PIFOLAB_OK);
    CHECK(pifolab_rebase(shaped, 0) == PIFOLAB_BUSY);
    CHECK(strcmp(pifolab_error(), "1 packets are held, and pieo reads the time: dequeue them first") == 0);
    CHECK(pifolab_dequeue(shaped, out, 3, 1000, NULL, &count, lost, 4, &lost_count, NULL) == PIFOLAB_OK);
    CHECK(pifolab_rebase(shaped, 0) == PIFOLAB_OK);
    CHECK(pifolab_enqueue(shaped, in, 3, 1, NULL, &offered, lost, 4, &lost_count) == PIFOLAB_OK);
    CHECK(pifolab_packets(shaped) == 3);
    pifolab_free(shaped);
}

static void parameters_are_told(void)
{
    pifolab_parameter found;
    CHECK(pifolab_parameter_of("packs", 0, &found) == PIFOLAB_OK);
    CHECK(strcmp(found.name, "queues") == 0 && strstr(found.allowed, "an integer from 1 to 1024") != NULL);
    CHECK(strlen(found.absent) > 0 && strlen(found.about) > 0);
    uint32_t number = 0;
    while (pifolab_parameter_of("stfq", number, &found) == PIFOLAB_OK)
        number++;
    CHECK(number > 0 && pifolab_parameter_of("stfq", number, &found) == PIFOLAB_NO_PARAMETER);
    CHECK(pifolab_parameter_of("pakcs", 0, &found) == PIFOLAB_UNKNOWN_NAME);
    CHECK(pifolab_parameter_of(NULL, 0, &found) == PIFOLAB_NULL_POINTER);

    /* Every rank function that is listed can be made. */
    for (uint32_t rank = 0; pifolab_rank_function_name(rank); rank++)
    {
        pifolab_scheduler *ranked = NULL;
        CHECK(pifolab_new("pifo", "", pifolab_rank_function_name(rank), "", &ranked) == PIFOLAB_OK);
        pifolab_free(ranked);
    }
}

/* A UDP frame from 10.0.0.1:`port` to 10.0.0.2:5001 with four bytes of payload. */
static void udp_frame(uint8_t *frame, uint8_t dscp, uint16_t port, uint32_t payload)
{
    static const uint8_t headers[42] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 32, 0, 0, 0,
                                        0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0x13, 0x89, 0, 12, 0, 0};
    memcpy(frame, headers, sizeof headers);
    frame[15] = (uint8_t)(dscp << 2);
    frame[34] = (uint8_t)(port >> 8);
    frame[35] = (uint8_t)port;
    for (int i = 0; i < 4; i++)
        frame[42 + i] = (uint8_t)(payload >> (24 - 8 * i));
}

static void frames_are_read_in_bursts(void)
{
    uint8_t bytes[4][46];
    const uint8_t *frames[4] = {bytes[0], bytes[1], bytes[2], bytes[3]};
    const uint32_t lengths[4] = {46, 46, 44, 46};
    pifolab_packet packets[4] = {{7, 0, 0, 0}, {8, 0, 0, 0}, {9, 0, 0, 0}, {10, 0, 0, 0}};
    pifolab_frame what[4];
    pifolab_reader *reader;
    udp_frame(bytes[0], 46, 1000, 70000);
    udp_frame(bytes[1], 10, 2000, 5);
    udp_frame(bytes[2], 0, 1000, 6); /* two bytes of its payload are cut off */
    udp_frame(bytes[3], 0, 3000, 7);
    bytes[3][13] = 6; /* ARP */
    CHECK(pifolab_reader_new("payload:0:4", 999, 3, 64, 0, &reader) == PIFOLAB_OK);
    CHECK(pifolab_read(reader, NULL, frames, lengths, 4, 5, packets, what) == PIFOLAB_OK);
    const uint64_t ranks[] = {70000, 5, 999, 3};
    const uint32_t flows[] = {0, 1, 0, 2};
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(packets[i].index == 7 + i && packets[i].size == lengths[i]);
        CHECK(packets[i].rank == ranks[i] && packets[i].flow == flows[i]);
    }
    CHECK(what[0] == PIFOLAB_FRAME_IP && what[1] == PIFOLAB_FRAME_IP && what[2] == PIFOLAB_FRAME_UNRANKED);
    CHECK(what[3] == PIFOLAB_FRAME_NEIGHBOUR);
    bytes[3][13] = 7;
    CHECK(pifolab_read(reader, NULL, frames + 3, lengths + 3, 1, 5, packets, what) == PIFOLAB_OK);
    CHECK(what[0] == PIFOLAB_FRAME_OTHER && packets[0].rank == 3);
    pifolab_reader_free(reader);

    CHECK(pifolab_reader_new("dscp:phb", 17, 0, 0, 0, &reader) == PIFOLAB_OK);
    CHECK(pifolab_read(reader, NULL, frames, lengths, 2, 5, packets, NULL) == PIFOLAB_OK);
    CHECK(packets[0].rank == 1 && packets[0].flow == 0 && packets[1].rank > 1 && packets[1].flow == 0);
    CHECK(pifolab_read(NULL, NULL, frames, lengths, 1, 5, packets, NULL) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_read(reader, NULL, NULL, lengths, 1, 5, packets, NULL) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_read(reader, NULL, frames, NULL, 1, 5, packets, NULL) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_read(reader, NULL, frames, lengths, 1, 5, NULL, NULL) == PIFOLAB_NULL_POINTER);
    CHECK(pifolab_read(reader, NULL, frames, lengths, 65, 5, packets, NULL) == PIFOLAB_TOO_MANY);
    CHECK(pifolab_read(reader, NULL, frames, lengths, 1, UINT64_MAX, packets, NULL) == PIFOLAB_BAD_TIME);
    CHECK(pifolab_read(reader, NULL, NULL, NULL, 0, 5, NULL, NULL) == PIFOLAB_OK);
    frames[1] = NULL;
    CHECK(pifolab_read(reader, NULL, frames, lengths, 2, 5, packets, NULL) == PIFOLAB_NULL_POINTER);
    CHECK(strcmp(pifolab_error(), "frames[1] is NULL") == 0);
    pifolab_reader_free(reader);
    pifolab_reader_free(NULL);
}

/* Least attained service: the bytes that a flow has sent are its rank, until another flow has its number. */
static void a_flow_that_the_reader_forgets_is_forgotten_by_the_rank_function(void)
{
    uint8_t bytes[46];
    const uint8_t *frame = bytes;
    const uint32_t length = 46;
    pifolab_packet one = {0, 0, 0, 0}, out[1];
    pifolab_lost lost[1];
    uint32_t offered, count, lost_count;
    pifolab_scheduler *las;
    pifolab_reader *reader;
    CHECK(pifolab_new("pifo", "", "las", "", &las) == PIFOLAB_OK);
    CHECK(pifolab_reader_new(NULL, 0, 0, 64, 0, &reader) == PIFOLAB_OK);
    /* Flow 1 speaks three times, then 2 to 65 once: the last one gets the number of flow 1, which comes back as a new flow. */
    for (uint16_t i = 0; i < 2 + 66; i++) {
        uint16_t port = i < 2 ? 1 : i - 1;
        udp_frame(bytes, 0, i == 67 ? 1 : port, 0);
        CHECK(pifolab_read(reader, las, &frame, &length, 1, i, &one, NULL) == PIFOLAB_OK);
        CHECK(pifolab_enqueue(las, &one, 1, i, NULL, &offered, lost, 1, &lost_count) == PIFOLAB_OK && offered == 1);
        CHECK(pifolab_dequeue(las, out, 1, i, NULL, &count, lost, 1, &lost_count, NULL) == PIFOLAB_OK && count == 1);
        CHECK(out[0].rank == (i == 1 || i == 2 ? 46u * i : 0));
    }
    pifolab_free(las);
    pifolab_reader_free(reader);
}

static void wrong_readers(void)
{
    pifolab_reader *reader = (pifolab_reader *)1;
    CHECK(pifolab_reader_new("dcsp", 0, 0, 0, 0, &reader) == PIFOLAB_BAD_RANK && reader == NULL);
    CHECK(strstr(pifolab_error(), "\"dcsp\": expected dscp, dscp:phb") != NULL);
    CHECK(pifolab_reader_new("mark", 0, 0, 0, 0, &reader) == PIFOLAB_BAD_RANK);
    CHECK(strcmp(pifolab_error(), "\"mark\": frames do not carry it: compute the rank yourself") == 0);
    CHECK(pifolab_reader_new("stfq", 0, 0, 0, 0, &reader) == PIFOLAB_BAD_RANK);
    CHECK(strstr(pifolab_error(), "is a rank function: give it to pifolab_new") != NULL);
    CHECK(pifolab_reader_new("\xff", 0, 0, 0, 0, &reader) == PIFOLAB_NOT_UTF8);
    CHECK(pifolab_reader_new("dscp", UINT64_MAX, 0, 0, 0, &reader) == PIFOLAB_BAD_PARAMETER);
    CHECK(strstr(pifolab_error(), "missing_rank = 18446744073709551615: expected at most") != NULL);
    CHECK(pifolab_reader_new("dscp", 0, UINT64_MAX, 0, 0, &reader) == PIFOLAB_BAD_PARAMETER);
    CHECK(pifolab_reader_new("dscp", 0, 0, 63, 0, &reader) == PIFOLAB_BAD_PARAMETER);
    CHECK(strstr(pifolab_error(), "flows = 63: expected 0, or from 64 to 16777216") != NULL);
    CHECK(pifolab_reader_new("dscp", 0, 0, 64, UINT64_MAX, &reader) == PIFOLAB_BAD_PARAMETER);
    CHECK(pifolab_reader_new("dscp", 0, 0, 0, 0, NULL) == PIFOLAB_NULL_POINTER);
}

int main(void)
{
    RUN(frames_are_read_in_bursts);
    RUN(a_flow_that_the_reader_forgets_is_forgotten_by_the_rank_function);
    RUN(wrong_readers);
    RUN(a_clock_that_starts_anew_keeps_the_order);
    RUN(parameters_are_told);
    RUN(the_papers_example);
    RUN(packets_are_conserved);
    RUN(many_victims_of_one_packet);
    RUN(rank_functions);
    RUN(looking_inside);
    RUN(wrong_calls);
    RUN(names_and_version);
    printf("%d tests passed\n", tests);
    return 0;
}
