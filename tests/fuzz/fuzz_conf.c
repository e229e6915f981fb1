// SPDX-License-Identifier: BSD-3-Clause
// Any text as a configuration: it is refused with reasons, or it can be put to work.
#include "fuzz.h"
#include "harness.h"

const char *__lsan_default_suppressions(void);

// libconfig's scanner forgets what it was reading when a file has an error.
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig_yylex\nleak:strbuf_append\n";
}

static void stop(void)
{
	harness_stop(NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (harness_start(NULL) < 0)
		exit(2);
	atexit(stop);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	const struct build_port ports[CONF_PORTS_MAX] = {0};
	char *text = NULL, why[256];
	size_t text_len = 0;
	FILE *errors = open_memstream(&text, &text_len);

	if (errors == NULL)
		abort();

	struct conf *conf = harness_conf((const char *)input, len, errors);

	fclose(errors);
	assert_int_equal(conf == NULL, text_len > 0);
	free(text);
	if (conf == NULL)
		return 0;

	struct snapshot *s = build_snapshot(conf, ports, NULL, why, sizeof(why));

	assert_non_null(s);
	build_snapshot_free(s);
	conf_free(conf);
	return 0;
}
