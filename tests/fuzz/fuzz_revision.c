// SPDX-License-Identifier: BSD-3-Clause
// Any text as a revision, which a damaged disk or another program may have left. Proves that it is
// refused with reasons, or is written again as the same configuration.
#include "conf_revision.h"

#include <stdlib.h>

#include "conf_dir.h"
#include "conf_apply.h"
#include "fuzz.h"
#include "harness.h"

const char *__lsan_default_suppressions(void);

// The state of libconfig's scanner is lost when a text has an error.
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig_yylex\nleak:strbuf_append\n";
}

static struct conf *running;

static void stop(void)
{
	conf_free(running);
	conf_dir_remove(NULL);
	harness_stop(NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (harness_start(NULL) < 0 || conf_dir_make(NULL) < 0)
		exit(2);
	atexit(stop);
	running = conf_load(conf_dir_path("many.conf"), NULL, stderr);
	return running != NULL ? 0 : -1;
}

static struct conf *read_text(
	const char *text, size_t len, const struct conf *instead_of, bool unsaved)
{
	char *reasons;
	size_t reasons_len;
	FILE *errors = open_memstream(&reasons, &reasons_len);
	struct conf *conf = conf_revision_read(&(struct conf_revision){.name = "revision 7",
						       .text = text,
						       .len = len,
						       .conf_path = conf_dir_path("run.conf"),
						       .unsaved = unsaved},
		instead_of, errors);

	fclose(errors);
	assert_int_equal(conf == NULL, reasons_len > 0);
	free(reasons);
	return conf;
}

static void written_check(const struct conf *conf)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct conf *again;
	struct conf_changes *list;

	conf_revision_write(conf, f);
	fclose(f);
	again = read_text(text, len, NULL, false);
	assert_non_null(again);
	list = conf_diff(conf, again);
	assert_non_null(list);
	assert_int_equal(list->n, 0);
	conf_changes_free(list);
	conf_free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	char *text = calloc(1, len + 1);
	struct conf *conf;

	memcpy(text, input, len);
	conf = read_text(text, len, NULL, false);
	if (conf != NULL) {
		written_check(conf);
		conf_free(conf);
		conf_free(read_text(text, len, running, true));
	}
	free(text);
	return 0;
}
