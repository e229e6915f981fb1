// SPDX-License-Identifier: BSD-3-Clause
// culvertctl peer-config: the other end of the tunnels of a configuration file.
#include <err.h>
#include <stdio.h>

#include "command.h"
#include "conf_print.h"

enum exit_code command_peer_config(const struct options *options, char **words)
{
	struct conf *conf;
	int rc;

	(void)options;
	if (words[0] == NULL || words[1] != NULL)
		errx(EXIT_USAGE, "peer-config: expected the name of one configuration file");
	conf = conf_load(words[0], NULL, stderr);
	if (conf == NULL)
		return EXIT_FAILED;
	rc = conf_print_peer(conf, stdout);
	conf_free(conf);
	if (rc < 0)
		warnx("peer-config: out of memory");
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}
