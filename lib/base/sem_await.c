// SPDX-License-Identifier: BSD-3-Clause
#include "sem_await.h"

#include <errno.h>

struct timespec time_in(unsigned int ms)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += ms % 1000 * 1000000l;
	end.tv_sec += ms / 1000 + end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	return end;
}

bool sem_await(sem_t *s, unsigned int ms)
{
	const struct timespec end = time_in(ms);

	while (sem_clockwait(s, CLOCK_MONOTONIC, &end) < 0)
		if (errno != EINTR)
			return false;
	return true;
}

void sem_await_ever(sem_t *s)
{
	while (sem_wait(s) < 0)
		;
}
