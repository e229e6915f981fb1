// SPDX-License-Identifier: BSD-3-Clause
#include "paced.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "die.h"

#define WORKERS  16
#define BINS     2048
#define FRACTION 16 // bits of step
// Before the first packet, all workers see the order, also sleeping ones.
#define DELAY_PER_S 500
#define SLICE_PER_S 100
// Reading the clock again and again takes less, a fraction of a second.
#define GAP_PER_S 10000000

enum kind {
	PACE,    // packets at their times
	CLOCK,   // no packets: the times without the CPU of a thread that only reads the clock
	CAPTURE, // as PACE, and keeps the frames that are sent
};

// Of one worker in one measurement.
struct part {
	_Atomic uint64_t done; // the last order whose packets it has received
	uint64_t sent;
	uint64_t from, to; // TSC of the first packet's arrival, and of the last one's sending
	uint64_t round;    // longest time from one poll of its port to the next
	uint64_t bins[BINS];
};

// All of 64 bits: the script has the same.
struct shared {
	_Atomic uint64_t order; // its number; the script sets it after all else
	uint64_t kind;
	uint64_t queues;  // the number of workers
	uint64_t step;    // TSC cycles between two packets of a queue, with FRACTION
	uint64_t packets; // of a queue; of CLOCK: slices
	uint64_t warm;    // TSC cycles from the first packet's arrival that do not count
	uint64_t port;    // 0 or 1: the gateway's port that receives
	uint64_t n_frames, stride;
	uint64_t tsc_hz; // written here, the rest below as well
	_Atomic uint64_t captured;
	uint64_t len[2]; // octets of a frame: received, and captured
	uint64_t unused[3];
	struct part part[WORKERS];
	// n_frames of stride octets to be received in turn, and room for as many captured ones
	uint8_t frames[];
};

struct paced {
	struct part *part;
	enum kind kind;
	uint64_t order, packets, received;
	uint64_t asked; // TSC of the last poll
	uint64_t count_from;
	uint64_t frame;
	unsigned int id;
};

static struct shared *shared;
static struct paced queues[WORKERS];

void paced_open(void)
{
	const char *path = getenv("CULVERT_LATENCY");
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct stat s;

	if (fd < 0 || fstat(fd, &s) < 0)
		die("to be started by tests/bench/latency");
	shared = mmap(
		NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (shared == MAP_FAILED)
		die("no memory");
	close(fd);
}

void paced_clock_tell(uint64_t tsc_hz)
{
	shared->tsc_hz = tsc_hz;
}

struct paced *paced_queue(unsigned int i)
{
	queues[i] = (struct paced){.part = &shared->part[i], .id = i};
	return &queues[i];
}

unsigned int paced_port(void)
{
	return (unsigned int)shared->port;
}

// --- figures ---

// 32 bins for each power of two.
static unsigned int bin(uint64_t v)
{
	unsigned int bits = 63 - (unsigned int)__builtin_clzll(v | 32);

	return (bits - 5) * 32 + (unsigned int)(v >> (bits - 5));
}

static uint64_t bin_begin(unsigned int i)
{
	return i < 64 ? i : (uint64_t)(32 + i % 32) << (i / 32 - 1);
}

// A packet that arrives in the gap waits until its end: each cycle of it counts as one packet.
static void gap_add(struct part *p, uint64_t gap)
{
	for (unsigned int i = 0; bin_begin(i) < gap; i++)
		p->bins[i] += RTE_MIN(bin_begin(i + 1), gap) - bin_begin(i);
}

// --- orders ---

static void begin(struct paced *q, uint64_t order, uint64_t now)
{
	struct part *p = q->part;

	q->order = order;
	q->kind = (enum kind)shared->kind;
	q->packets = shared->packets;
	q->received = 0;
	q->frame = q->id;
	p->sent = p->round = 0;
	p->from = p->to = now + shared->tsc_hz / DELAY_PER_S;
	q->asked = q->count_from = p->from + shared->warm;
	memset(p->bins, 0, sizeof(p->bins));
}

// A slice of it, so that the control thread sees the worker move.
static void watch_clock(struct paced *q)
{
	const uint64_t tiny = shared->tsc_hz / GAP_PER_S;
	uint64_t from = rte_rdtsc(), last = from, now;

	do {
		now = rte_rdtsc();
		if (unlikely(now - last > tiny))
			gap_add(q->part, now - last);
		else
			q->part->bins[0] += now - last;
		last = now;
	} while (now - from < shared->tsc_hz / SLICE_PER_S);
}

static void order_follow(struct paced *q, uint64_t now)
{
	const uint64_t order = atomic_load_explicit(&shared->order, memory_order_acquire);

	if (order != q->order)
		begin(q, order, now);
	else
		atomic_store_explicit(&q->part->done, order, memory_order_release);
}

bool paced_is_done(const struct paced *q)
{
	return q->received == q->packets;
}

// --- packets ---

static uint64_t planned(const struct paced *q)
{
	return q->part->from + (q->received * shared->step >> FRACTION);
}

// The next frame of the queue, whose flows no other queue has.
static const uint8_t *frame_next(struct paced *q)
{
	const uint8_t *frame = shared->frames + q->frame * shared->stride;

	q->frame += shared->queues;
	if (q->frame >= shared->n_frames)
		q->frame = q->id;
	return frame;
}

uint16_t paced_receive(struct paced *q, uint64_t at[], const uint8_t *frame[], uint16_t n)
{
	const uint64_t now = rte_rdtsc();
	uint16_t due = 0;

	if (unlikely(paced_is_done(q))) {
		order_follow(q, now);
		return 0;
	}
	if (unlikely(q->kind == CLOCK)) {
		watch_clock(q);
		q->received++;
		return 0;
	}
	if (now > q->asked) {
		q->part->round = RTE_MAX(q->part->round, now - q->asked);
		q->asked = now;
	}
	for (; due < n && q->received < q->packets && (at[due] = planned(q)) <= now; due++) {
		frame[due] = frame_next(q);
		q->received++;
	}
	return due;
}

uint16_t paced_len(void)
{
	return (uint16_t)shared->len[0];
}

void paced_sent(struct paced *q, uint64_t at, uint64_t now)
{
	q->part->sent++;
	q->part->to = now;
	if (likely(at >= q->count_from))
		q->part->bins[bin(now - at)]++;
}

bool paced_captures(const struct paced *q)
{
	return q->kind == CAPTURE;
}

void paced_capture(const uint8_t *frame, uint16_t len)
{
	uint64_t n = atomic_load(&shared->captured);

	if (n == shared->n_frames || len > shared->stride)
		die("too many frames are sent, or one of %u octets", len);
	memcpy(shared->frames + (shared->n_frames + n) * shared->stride, frame, len);
	shared->len[1] = len;
	atomic_store(&shared->captured, n + 1);
}
