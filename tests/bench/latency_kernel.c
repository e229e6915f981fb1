// SPDX-License-Identifier: BSD-3-Clause
// The hosts around a gateway that is the kernel of another namespace, for tests/bench/latency: in
// the place of a worker, a thread sends the packets that are due (paced.h) by a packet socket. The
// kernel forwards them in that call, or in its thread ksoftirqd soon after. Usage, by
// tests/bench/latency_kernel:
//
//   bench_latency_kernel CPU,LAN,WAN...     for each worker: its CPU, and the hosts' interfaces
//
// A packet has been sent when the host's interface WAN counts it.
#include <fcntl.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "die.h"
#include "paced.h"

#define WAITING 512   // packets sent to the kernel that have not arrived, at most: it queues 1000
#define TRIES   10000 // without an arrival
#define REST_NS 100000

struct worker {
	unsigned int id;
	int cpu, socket, counter;
	uint64_t counted;     // by the interface
	uint64_t at[WAITING]; // of packets that have not arrived, a ring: the kernel keeps their
			      // order
	uint64_t sent, arrived;
};

static uint64_t count(const struct worker *w)
{
	char text[32];
	ssize_t len = pread(w->counter, text, sizeof(text) - 1, 0);

	if (len <= 0)
		die("an interface does not count");
	text[len] = '\0';
	return strtoull(text, NULL, 10);
}

static void arrive(struct worker *w, struct paced *q)
{
	const uint64_t counted = count(w), now = rte_rdtsc();

	for (; w->counted < counted && w->arrived < w->sent; w->counted++, w->arrived++)
		paced_sent(q, w->at[w->arrived % WAITING], now);
}

static void send_all(struct worker *w, const uint64_t at[], const uint8_t *frame[], uint16_t n)
{
	struct mmsghdr message[PACED_BURST] = {0};
	struct iovec part[PACED_BURST];

	for (uint16_t i = 0; i < n; i++) {
		part[i] = (struct iovec){(void *)frame[i], paced_len()};
		message[i].msg_hdr.msg_iov = &part[i];
		message[i].msg_hdr.msg_iovlen = 1;
		w->at[w->sent++ % WAITING] = at[i];
	}
	if (sendmmsg(w->socket, message, n, 0) != n)
		die("the kernel does not take frames");
}

static void rest(struct worker *w, struct paced *q)
{
	for (unsigned int i = 0; i < TRIES && w->arrived < w->sent; i++)
		arrive(w, q);
	nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
	w->arrived = w->sent; // the others are lost
	w->counted = count(w);
}

static void *run(void *worker)
{
	struct paced *q;
	struct worker *w = worker;
	const uint8_t *frame[PACED_BURST];
	uint64_t at[PACED_BURST];
	unsigned int full = 0; // rounds without room for a packet
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(w->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		die("no CPU %d", w->cpu);
	q = paced_queue(w->id);
	for (;;) {
		const uint64_t room = WAITING - (w->sent - w->arrived);
		const uint16_t n =
			paced_receive(q, at, frame, (uint16_t)RTE_MIN(room, PACED_BURST));

		full = room > 0 ? 0 : full + 1;
		if (full > TRIES)
			rest(w, q);
		if (n > 0)
			send_all(w, at, frame, n);
		if (w->arrived < w->sent)
			arrive(w, q);
		if (paced_is_done(q))
			rest(w, q);
	}
	return NULL;
}

static void begin(struct worker *w, char *text)
{
	const char *cpu = strsep(&text, ","), *lan = strsep(&text, ","), *wan = strsep(&text, ",");
	struct sockaddr_ll to = {.sll_family = AF_PACKET};
	char path[64 + IFNAMSIZ];
	pthread_t thread;

	if (wan == NULL)
		die("usage: see tests/bench/latency_kernel.c");
	w->cpu = atoi(cpu);
	to.sll_ifindex = (int)if_nametoindex(lan);
	// It receives nothing: no protocol.
	w->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (w->socket < 0 || bind(w->socket, (const struct sockaddr *)&to, sizeof(to)) < 0)
		die("%s: no packet socket", lan);
	snprintf(path, sizeof(path), "/sys/class/net/%.*s/statistics/rx_packets", IFNAMSIZ, wan);
	w->counter = open(path, O_RDONLY | O_CLOEXEC);
	if (w->counter < 0)
		die("%s cannot be read", path);
	w->counted = count(w);
	if (pthread_create(&thread, NULL, run, w) != 0)
		die("no thread");
	pthread_setname_np(thread, "kernel-worker"); // tests/bench/latency looks for it
}

int main(int argc, char **argv)
{
	struct worker *workers = calloc((size_t)argc, sizeof(*workers));

	if (workers == NULL)
		die("no memory");
	paced_open();
	for (int i = 1; i < argc; i++) {
		workers[i].id = (unsigned int)i - 1;
		begin(&workers[i], argv[i]);
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (;;)
		pause();
}
