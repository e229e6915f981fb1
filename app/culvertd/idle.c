// SPDX-License-Identifier: BSD-3-Clause
#include "idle.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_pause.h>
#include <rte_power_intrinsics.h>

#define ROUNDS       64     // empty ones before anything but asking again
#define ROUNDS_INTR  1024   // the same before system calls for every queue
#define PAUSES_PER_S 500000 // 2 us: at 100 Gbit/s 300 frames, fewer than a queue takes
#define ROUNDS_QUIET 256    // empty ones, 20 ms or so of short sleep, before a longer one
#define SLEEP        (&(struct timespec){.tv_nsec = 20000})
#define SLEEP_QUIET  (&(struct timespec){.tv_nsec = 500000}) // many wake-ups cost more than traffic
#define WAIT_MS      1
#define EVENTS       16

static int interrupts_init(struct idle *idle)
{
	idle->patience = ROUNDS_INTR;
	idle->epoll = epoll_create1(EPOLL_CLOEXEC);
	idle->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	idle->woken.epdata.event = EPOLLIN | EPOLLET; // every one counts, none is read
	if (idle->epoll >= 0 && idle->wake >= 0 &&
		rte_epoll_ctl(idle->epoll, EPOLL_CTL_ADD, idle->wake, &idle->woken) == 0)
		return 0;
	idle_fini(idle);
	return -EIO;
}

int idle_init(struct idle *idle, enum conf_idle way)
{
	struct rte_cpu_intrinsics cpu = {0};

	rte_cpu_get_intrinsics_support(&cpu);
	*idle = (struct idle){
		.way = way,
		.patience = ROUNDS,
		.pause = rte_get_tsc_hz() / PAUSES_PER_S,
		.umwait = cpu.power_pause,
		.epoll = -1,
		.wake = -1,
	};
	return way == CONF_IDLE_INTERRUPT ? interrupts_init(idle) : 0;
}

void idle_fini(struct idle *idle)
{
	if (idle->epoll >= 0)
		close(idle->epoll);
	if (idle->wake >= 0)
		close(idle->wake);
	idle->epoll = idle->wake = -1;
}

int idle_queue_add(struct idle *idle, uint16_t ethdev, uint16_t queue)
{
	int rc = rte_eth_dev_rx_intr_ctl_q(ethdev, queue, idle->epoll, RTE_INTR_EVENT_ADD, NULL);

	if (rc < 0)
		return rc;
	rc = rte_eth_dev_rx_intr_enable(ethdev, queue);
	if (rc != 0 && rc != -ENOTSUP) // some always report a frame
		return rc;
	rte_eth_dev_rx_intr_disable(ethdev, queue);
	return 0;
}

void idle_announce(struct idle *idle)
{
	atomic_store_explicit(&idle->waits, true, memory_order_relaxed);
	// Either this thread sees the other's store, or the other sees that this one waits.
	atomic_thread_fence(memory_order_seq_cst);
}

void idle_renounce(struct idle *idle)
{
	atomic_store_explicit(&idle->waits, false, memory_order_relaxed);
}

void idle_wake(struct idle *idle)
{
	const uint64_t one = 1;

	if (idle->way != CONF_IDLE_INTERRUPT)
		return;
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&idle->waits, memory_order_relaxed) &&
		write(idle->wake, &one, sizeof(one)) < 0)
		return; // it wakes by itself, a millisecond later
}

static void pause_until(const struct idle *idle, uint64_t end)
{
	if (idle->umwait && rte_power_pause(end) == 0)
		return;
	while (rte_rdtsc() < end)
		rte_pause();
}

void idle_wait(struct idle *idle, unsigned int rounds)
{
	struct rte_epoll_event events[EVENTS];

	switch (idle->way) {
	case CONF_IDLE_POLL:
		rte_pause();
		break;
	case CONF_IDLE_PAUSE:
		pause_until(idle, rte_rdtsc() + idle->pause);
		break;
	case CONF_IDLE_SLEEP:
		nanosleep(rounds < ROUNDS_QUIET ? SLEEP : SLEEP_QUIET, NULL);
		break;
	case CONF_IDLE_INTERRUPT:
		rte_epoll_wait(idle->epoll, events, EVENTS, WAIT_MS);
		break;
	}
}
