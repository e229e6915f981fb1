// SPDX-License-Identifier: BSD-3-Clause
#include "binding_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

#define LINE_MAX_LEN 512
#define AT_ONCE      128 // lines
#define PAUSE_US     20000
#define RETRY_MS     1000

struct binding_log {
	struct flow_table *flows;
	unsigned int n_workers;
	uint64_t (*now_ms)(void);
	pthread_t thread;
	atomic_bool stop;
	char path[PATH_MAX - 2], former[PATH_MAX];
	int fd; // -1: it could not be opened again
	uint64_t size, size_max;
	uint64_t lost;     // that have been reported
	uint64_t retry_ms; // of the file, after an error; 0: there was none
	size_t len;
	char text[AT_ONCE * LINE_MAX_LEN];
};

static int file_open(struct binding_log *l)
{
	struct stat st;

	l->fd = open(l->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (l->fd < 0 || fstat(l->fd, &st) < 0)
		return -errno;
	l->size = (uint64_t)st.st_size;
	return 0;
}

// The file becomes the former one, whose place it takes.
static int file_rotate(struct binding_log *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	return rename(l->path, l->former) < 0 && errno != ENOENT ? -errno : file_open(l);
}

// Writes the lines, of which some may remain.
static int lines_write(struct binding_log *l)
{
	ssize_t n;
	int rc = 0;

	if (l->fd < 0 || l->size + l->len > l->size_max)
		rc = file_rotate(l);
	if (rc < 0)
		return rc;
	n = write(l->fd, l->text, l->len);
	if (n < 0)
		return -errno;
	l->size += (uint64_t)n;
	l->len -= (size_t)n;
	memmove(l->text, l->text + n, l->len);
	return 0;
}

static void end_add(
	struct binding_log *l, const char *name, const struct ip_addr *addr, rte_be16_t port)
{
	char text[IP_ADDR_STRLEN];

	l->len += (size_t)snprintf(l->text + l->len, LINE_MAX_LEN, " %s=%s %s_port=%u", name,
		ip_addr_format(text, addr), name, rte_be_to_cpu_16(port));
}

static void line_add(struct binding_log *l, const struct flow_binding *b)
{
	char date[LOG_DATE_MAX];

	l->len += (size_t)snprintf(l->text + l->len, LINE_MAX_LEN, "%s nat %s proto=%u",
		log_date_ago(date, (uint32_t)l->now_ms() - b->at_ms), b->ended ? "end" : "begin",
		b->proto);
	end_add(l, "source", &b->from.src, b->from.src_port);
	end_add(l, "destination", &b->from.dst, b->from.dst_port);
	end_add(l, "to_source", &b->to.src, b->to.src_port);
	end_add(l, "to_destination", &b->to.dst, b->to.dst_port);
	l->len += (size_t)snprintf(l->text + l->len, LINE_MAX_LEN, " binding=%u\n", b->number);
}

// Takes records while there is room for their lines. Returns whether there were any.
static bool records_take(struct binding_log *l)
{
	struct flow_binding b;
	bool any = false;

	for (unsigned int i = 0; i < l->n_workers; i++)
		while (l->len + LINE_MAX_LEN <= sizeof(l->text) &&
			flow_binding_next(l->flows, i, &b)) {
			line_add(l, &b);
			any = true;
		}
	return any;
}

static void lost_report(struct binding_log *l)
{
	struct flow_counters sum;

	flow_counters_sum(l->flows, &sum);
	if (sum.bindings_lost == l->lost)
		return;
	log_warn("log of bindings: %lu lines are missing in %s, which was not written in time",
		sum.bindings_lost - l->lost, l->path);
	l->lost = sum.bindings_lost;
}

// Returns whether there may be more to do at once.
static bool log_step(struct binding_log *l)
{
	bool any = records_take(l);
	int rc;

	if (l->len == 0 || (l->retry_ms != 0 && l->now_ms() < l->retry_ms))
		return false;
	rc = lines_write(l);
	if (rc < 0 && l->retry_ms == 0)
		log_warn("cannot write %s: %s: it is tried again every second", l->path,
			strerror(-rc));
	else if (rc == 0 && l->retry_ms != 0)
		log_warn("%s can be written again", l->path);
	l->retry_ms = rc < 0 ? l->now_ms() + RETRY_MS : 0;
	if (rc == 0)
		lost_report(l);
	return rc == 0 && (any || l->len > 0);
}

static void *log_run(void *log)
{
	struct binding_log *l = log;
	bool last;

	do {
		last = atomic_load_explicit(&l->stop, memory_order_acquire);
		while (log_step(l))
			;
		if (!last)
			usleep(PAUSE_US);
	} while (!last);
	return NULL;
}

static void log_free(struct binding_log *l)
{
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

int binding_log_start(struct binding_log **log, const struct conf *conf, struct flow_table *flows,
	uint64_t (*now_ms)(void))
{
	struct binding_log *l = conf->nat_log_mb > 0 ? calloc(1, sizeof(*l)) : NULL;
	int rc;

	if (l == NULL)
		return conf->nat_log_mb > 0 ? -ENOMEM : 0;
	l->flows = flows;
	l->n_workers = conf->n_workers;
	l->now_ms = now_ms;
	l->size_max = (uint64_t)conf->nat_log_mb * 1024 * 1024 / 2;
	snprintf(l->path, sizeof(l->path), "%s/%s.bindings", conf->state_dir, conf->instance);
	snprintf(l->former, sizeof(l->former), "%s.1", l->path);
	rc = file_open(l);
	if (rc == 0)
		rc = flow_bindings_new(flows);
	if (rc == 0)
		rc = -pthread_create(&l->thread, NULL, log_run, l);
	if (rc < 0) {
		log_error("cannot begin the log of bindings, %s: %s", l->path, strerror(-rc));
		log_free(l);
		return rc;
	}
	pthread_setname_np(l->thread, "culvert-nat");
	*log = l;
	return 0;
}

void binding_log_stop(struct binding_log *l)
{
	if (l == NULL)
		return;
	atomic_store_explicit(&l->stop, true, memory_order_release);
	pthread_join(l->thread, NULL);
	log_free(l);
}
