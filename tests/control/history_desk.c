// SPDX-License-Identifier: BSD-3-Clause
#include "history_desk.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "configure.h"
#include "request_client.h"
#include "requests.h"
#include "revisions.h"

char history_folder[] = "/tmp/culvert-revisions.XXXXXX", history_settings[128];
static char file[64];
static struct conf *made;
bool history_refused;    // the built snapshot cannot be applied
bool history_takes_long; // to make it
bool history_back;       // the last one that was loaded had run before

static int io_load_begin(void *arg, request_make *make, bool new_keys, bool back, FILE *errors)
{
	(void)arg, (void)new_keys;
	history_back = back;
	made = make(desk.conf, errors);
	return 0;
}

static int io_load_finish(void *arg)
{
	(void)arg;
	if (history_takes_long)
		return -EINPROGRESS;
	if (made == NULL || history_refused) {
		conf_free(made);
		return -EINVAL;
	}
	desk_replace(made);
	return 0;
}

static void io_nothing(void)
{
}

static const struct request_at_once at_once[] = {{NULL, NULL, false}};

static const struct request_io io = {.take = client_take,
	.answer = client_answer,
	.load_begin = io_load_begin,
	.load_finish = io_load_finish,
	.sa_begin = client_sa_begin,
	.reloading = io_nothing,
	.ready = io_nothing,
	.at_once = at_once};

void conf_file_write(const char *more)
{
	FILE *f = fopen(file, "we");
	char all[256];

	snprintf(all, sizeof(all), "%s%s", history_settings, more);
	desk_conf_write(f, all, "");
	fclose(f);
	chmod(file, 0600);
}

// As a daemon that starts.
void daemon_start(void)
{
	desk.revisions = (struct revisions){0};
	desk.conf_path = file;
	desk_replace(revisions_begin(&desk, conf_load(file, NULL, stderr)));
	configure_retire(&desk);
	revisions_start(&desk);
	requests_start(&desk, file, &io, &desk);
}

int history_setup(void **state)
{
	int rc = desk_begin(state);

	strcpy(history_folder + sizeof(history_folder) - 7, "XXXXXX");
	assert_non_null(mkdtemp(history_folder));
	snprintf(file, sizeof(file), "%s/gw.conf", history_folder);
	snprintf(history_settings, sizeof(history_settings),
		"state_dir = \"%s\"; instance = \"t\";\n", history_folder);
	conf_file_write("");
	history_refused = history_takes_long = false;
	client_user = 5;
	daemon_start();
	return rc;
}

int history_teardown(void **state)
{
	DIR *d = opendir(history_folder);
	struct dirent *e;
	char path[512];

	requests_stop();
	while ((e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", history_folder, e->d_name);
		remove(path);
	}
	closedir(d);
	rmdir(history_folder);
	return desk_end(state);
}

void daemon_pass(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		requests_tick(false, desk_now);
		if (desk.retired != NULL)
			configure_retire(&desk);
	}
}

static void request(const char *request_text)
{
	client_next = request_text;
	client_status[0] = client_text[0] = '\0';
	daemon_pass();
	assert_null(client_next);
}

void expect_answer(const char *request_text, const char *wanted, const char *part)
{
	request(request_text);
	if (strcmp(client_status, wanted) != 0 || strstr(client_text, part) == NULL)
		fail_msg("%s: %s, %s", request_text, client_status, client_text);
}

unsigned int n_revisions(void)
{
	struct history_view v;
	unsigned int n = 0;

	while (collect_history(&v, &desk, n))
		n++;
	return n;
}

struct history_view nth_revision(unsigned int i)
{
	struct history_view v = {0};

	assert_true(collect_history(&v, &desk, i));
	return v;
}

void expect_last(uint64_t revision, const char *source, const char *summary)
{
	const struct history_view v = nth_revision(n_revisions() - 1);

	assert_int_equal(v.revision, revision);
	assert_string_equal(v.source, source);
	assert_string_equal(v.summary, summary);
}

bool state_has(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", history_folder, name);
	return access(path, F_OK) == 0;
}

void conf_file_history(const char *n)
{
	snprintf(history_settings, sizeof(history_settings),
		"state_dir = \"%s\"; instance = \"t\"; history = %s;\n", history_folder, n);
	conf_file_write("");
}

void state_block(const char *name, bool on)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", history_folder, name);
	assert_int_equal(on ? mkdir(path, 0700) : rmdir(path), 0);
}

void request_send(const char *request_text)
{
	client_next = request_text;
	daemon_pass();
}
