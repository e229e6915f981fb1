// SPDX-License-Identifier: BSD-3-Clause
#include "open_limit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "port_log.h"

#define LIMIT_S 30 // cards that load their firmware take a few seconds

static void *limit_run(void *arg)
{
	struct open_limit *l = arg;
	struct pollfd p[] = {
		{.fd = l->opened, .events = POLLIN}, {.fd = l->signals, .events = POLLIN}};
	int rc;

	do
		rc = poll(p, 2, LIMIT_S * 1000);
	while (rc < 0 && errno == EINTR);
	if (p[0].revents != 0)
		return NULL;
	if (rc > 0) {
		log_info("stopping on a signal, while device \"%s\" is opened", l->conf->device);
		_exit(EXIT_SUCCESS);
	}
	port_error(l->conf, "device \"%s\" has not answered for %u seconds: %s", l->conf->device,
		LIMIT_S,
		!conf_device_is_virtual(l->conf->device)
			? "if it is a virtio device behind an IOMMU, the virtual machine needs "
			  "'iommu_platform=on' for it"
			: "does its other end run?");
	_exit(EXIT_FAILURE);
}

static void files_close(const struct open_limit *l)
{
	if (l->opened >= 0)
		close(l->opened);
	if (l->signals >= 0)
		close(l->signals);
}

int open_limit_start(struct open_limit *l, const struct conf_port *c)
{
	sigset_t set;
	int rc;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	l->conf = c;
	l->opened = eventfd(0, EFD_CLOEXEC);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC); // blocked, it stays pending for others
	rc = l->opened < 0 || l->signals < 0 ? -errno
					     : -pthread_create(&l->thread, NULL, limit_run, l);
	if (rc < 0)
		files_close(l);
	return rc;
}

void open_limit_end(struct open_limit *l)
{
	eventfd_write(l->opened, 1);
	pthread_join(l->thread, NULL);
	files_close(l);
}
