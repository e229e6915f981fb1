// SPDX-License-Identifier: BSD-3-Clause
#include "open_limit.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"

#define LIMIT_S 30 // cards that load their firmware take a few seconds

static void *limit_run(void *arg)
{
	struct open_limit *l = arg;
	struct timespec end;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += LIMIT_S;
	do
		rc = sem_clockwait(&l->opened, CLOCK_MONOTONIC, &end);
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return NULL;
	port_error(l->conf, "device \"%s\" has not answered for %u seconds: %s", l->conf->device,
		LIMIT_S,
		conf_device_is_pci(l->conf->device)
			? "if it is a virtio device behind an IOMMU, the virtual machine needs "
			  "'iommu_platform=on' for it"
			: "does its other end run?");
	_exit(EXIT_FAILURE);
}

int open_limit_start(struct open_limit *l, const struct conf_port *c)
{
	l->conf = c;
	sem_init(&l->opened, 0, 0);
	return -pthread_create(&l->thread, NULL, limit_run, l);
}

void open_limit_end(struct open_limit *l)
{
	sem_post(&l->opened);
	pthread_join(l->thread, NULL);
	sem_destroy(&l->opened);
}
