// SPDX-License-Identifier: BSD-3-Clause
// Any text as the files of a configuration, and as a request that changes it. Proves that
// conf_rewrite() refuses with reasons, or makes files that are equal to the configuration after the
// request. The input is the file, after the line "#rest" one that it may include, and after the
// line
// "#change" the request.
#include "conf_rewrite.h"

#include <stdlib.h>

#include "conf_dir.h"
#include "rewritten.h"
#include "conf_apply.h"
#include "conf_change.h"
#include "fuzz.h"
#include "harness.h"

#define REST   "\n#rest\n"
#define CHANGE "\n#change\n"

const char *__lsan_default_suppressions(void);

// The state of libconfig's scanner is lost when a text has an error.
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig_yylex\nleak:strbuf_append\n";
}

static FILE *nothing;

static void stop(void)
{
	fclose(nothing);
	conf_dir_remove(NULL);
	harness_stop(NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	nothing = fopen("/dev/null", "we");
	if (nothing == NULL || harness_start(NULL) < 0 || conf_dir_make(NULL) < 0)
		exit(2);
	atexit(stop);
	return 0;
}

// Ends text before a line and its newlines. Returns the text after it.
static char *part_after(char *text, const char *line)
{
	char *at = strstr(text, line);

	if (at == NULL)
		return text + strlen(text);
	at[1] = '\0'; // the newline before the line stays
	return at + strlen(line);
}

static struct conf *changed(const char *request)
{
	struct conf *file = conf_load(conf_dir_path("run.conf"), NULL, nothing);
	struct conf *conf = NULL;

	if (file != NULL)
		conf = conf_change(file, "fuzz", request, strlen(request), nothing);
	conf_free(file);
	return conf;
}

static void files_check(const struct conf *running)
{
	struct conf *after = conf_dir_load_good("run.conf");
	struct conf_changes *list = conf_diff(running, after);

	assert_non_null(list);
	assert_int_equal(list->n, 0);
	conf_changes_free(list);
	conf_free(after);
}

static void rewrite_check(const struct conf *running)
{
	char *result, *reasons;
	size_t len, reasons_len;
	FILE *out = open_memstream(&result, &len), *errors = open_memstream(&reasons, &reasons_len);
	bool ok = conf_rewrite(running, conf_dir_path("run.conf"), out, errors);

	fclose(out);
	fclose(errors);
	assert_int_equal(ok, reasons_len == 0);
	if (ok && len > 0) {
		rewritten_apply(result);
		files_check(running);
	}
	free(result);
	free(reasons);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	char *text = strndup((const char *)input, len);
	char *request = part_after(text, CHANGE), *rest = part_after(text, REST);
	struct conf *running;

	conf_dir_write("run.conf", text, strlen(text));
	conf_dir_write("rest", rest, strlen(rest));
	running = changed(request);
	if (running != NULL)
		rewrite_check(running);
	conf_free(running);
	free(text);
	return 0;
}
