// SPDX-License-Identifier: BSD-3-Clause
#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#define AGAIN_US 100000 // for a call that began just after the signal

static volatile sig_atomic_t stop;

static void timer_set(int us)
{
	const struct itimerval t = {{.tv_usec = us}, {.tv_usec = us}};

	setitimer(ITIMER_REAL, &t, NULL);
}

static void handle(int sig)
{
	stop = 1;
	if (sig != SIGALRM)
		timer_set(AGAIN_US);
}

static void mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(how, &set, NULL);
}

void interrupt_begin(void)
{
	const struct sigaction action = {.sa_handler = handle}; // calls are not restarted

	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	mask(SIG_UNBLOCK);
}

void interrupt_end(void)
{
	mask(SIG_BLOCK);
	timer_set(0);
}

bool interrupted(void)
{
	return stop != 0;
}
