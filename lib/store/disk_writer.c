// SPDX-License-Identifier: BSD-3-Clause
#include "disk_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "file_save.h"
#include "log.h"
#include "sem_await.h"

enum state { IDLE, BUSY, DONE };

struct disk_writer {
	char path[PATH_MAX];
	pthread_t thread;
	pthread_mutex_t lock; // of the following octets
	pthread_cond_t changed;
	enum state state;
	bool stop;
	int rc; // of DONE
	char *text;
	size_t len;
	uint64_t turn;
	int witness;
	void (*meanwhile)(void *arg); // NULL: nothing
	void *meanwhile_arg;
};

#define WAIT_MS  20
#define TURN_LEN 21 // digits and the end of the line

// Not synchronised: after a power failure the turn may be lower. A turn that cannot be written
// stays lower, too, which is no error.
static void turn_write(int witness, uint64_t turn)
{
	char line[TURN_LEN + 1];

	snprintf(line, sizeof(line), "%020" PRIu64 "\n", turn);
	if (pwrite(witness, line, TURN_LEN, 0) < 0)
		log_debug("cannot write the turn of the sequence numbers: %s", strerror(errno));
}

uint64_t disk_writer_turn_of(int witness)
{
	char line[TURN_LEN + 1] = "";

	return pread(witness, line, TURN_LEN, 0) == TURN_LEN ? strtoull(line, NULL, 10) : 0;
}

static void *writer_run(void *arg)
{
	struct disk_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (w->state != BUSY && !w->stop)
			pthread_cond_wait(&w->changed, &w->lock);
		if (w->state != BUSY)
			break;
		pthread_mutex_unlock(&w->lock);

		int rc = file_save(w->path, w->text, w->len);

		if (rc == 0)
			turn_write(w->witness, w->turn);
		free(w->text);
		pthread_mutex_lock(&w->lock);
		w->rc = rc;
		w->state = DONE;
		pthread_cond_broadcast(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int disk_writer_new(struct disk_writer **writer, const char *path, int witness)
{
	struct disk_writer *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return -ENOMEM;
	snprintf(w->path, sizeof(w->path), "%s", path);
	w->witness = witness;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	rc = pthread_create(&w->thread, NULL, writer_run, w);
	if (rc != 0) {
		free(w);
		return -rc;
	}
	pthread_setname_np(w->thread, "culvert-disk");
	*writer = w;
	return 0;
}

void disk_writer_free(struct disk_writer *w)
{
	if (w == NULL)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
}

bool disk_writer_busy(struct disk_writer *w)
{
	pthread_mutex_lock(&w->lock);

	bool busy = w->state != IDLE;

	pthread_mutex_unlock(&w->lock);
	return busy;
}

void disk_writer_start(struct disk_writer *w, char *text, size_t len, uint64_t turn)
{
	pthread_mutex_lock(&w->lock);
	w->text = text;
	w->len = len;
	w->turn = turn;
	w->state = BUSY;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

bool disk_writer_done(struct disk_writer *w, int *rc)
{
	pthread_mutex_lock(&w->lock);

	bool done = w->state == DONE;

	if (done) {
		*rc = w->rc;
		w->state = IDLE;
	}
	pthread_mutex_unlock(&w->lock);
	return done;
}

void disk_writer_meanwhile_set(struct disk_writer *w, void (*meanwhile)(void *arg), void *arg)
{
	w->meanwhile = meanwhile;
	w->meanwhile_arg = arg;
}

void disk_writer_meanwhile(const struct disk_writer *w)
{
	if (w->meanwhile != NULL)
		w->meanwhile(w->meanwhile_arg);
}

static void changed_wait(struct disk_writer *w)
{
	const struct timespec end = time_in(WAIT_MS);

	pthread_cond_clockwait(&w->changed, &w->lock, CLOCK_MONOTONIC, &end);
}

int disk_writer_wait(struct disk_writer *w)
{
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	while (w->state == BUSY) {
		changed_wait(w);
		disk_writer_meanwhile(w);
	}
	pthread_mutex_unlock(&w->lock);
	disk_writer_done(w, &rc);
	return rc;
}
