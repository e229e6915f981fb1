// SPDX-License-Identifier: BSD-3-Clause
// culvertd: reads the command line and the configuration, and runs the gateway.
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>

#include "announced_route.h"
#include "control_thread.h"
#include "device_test.h"
#include "dpdk.h"
#include "gateway_run.h"
#include "host_iface.h"
#include "log.h"
#include "machine.h"
#include "notify.h"
#include "privilege.h"
#include "revisions.h"
#include "state.h"
#include "version.h"

enum exit_code { EXIT_OK, EXIT_FAILED, EXIT_USAGE };

struct options {
	const char *conf;
	bool check_only, verbose;
	int new_keys, test_devices; // not 0: given
};

static const char usage[] =
	"Usage: culvertd -c FILE [-t | --new-keys] [-v]\n"
	"       culvertd --test-devices DEVICE [DEVICE]\n"
	"Userspace IPsec ESP gateway.\n"
	"\n"
	"  -c, --config FILE  the configuration\n"
	"  -t, --test         check the configuration and exit\n"
	"      --new-keys     declare that keys without sequence numbers are new, and exit\n"
	"      --test-devices test devices as ports, and exit: culvertctl devices --test\n"
	"  -v, --verbose      log more, DPDK's lines included\n"
	"      --version      show the version and exit\n"
	"  -h, --help         show this text and exit\n"
	"\n"
	"Runs in the foreground and logs to standard error. SIGHUP reloads the\n"
	"configuration, SIGTERM and SIGINT stop culvertd.\n"
	"Inspect the running daemon with culvertctl.\n";

// Returns false when the program is done already, *rc being its exit code.
static bool options_read(struct options *o, int *rc, int argc, char **argv)
{
	const struct option longs[] = {{"config", required_argument, NULL, 'c'},
		{"test", no_argument, NULL, 't'}, {"new-keys", no_argument, &o->new_keys, 1},
		{"test-devices", no_argument, &o->test_devices, 1},
		{"verbose", no_argument, NULL, 'v'}, {"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'}, {0}};
	int c;

	*rc = EXIT_OK;
	while ((c = getopt_long(argc, argv, "c:tvh", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->conf = optarg;
			break;
		case 't':
			o->check_only = true;
			break;
		case 0:
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'V':
			printf("culvertd %s\n", CULVERT_VERSION);
			return false;
		case 'h':
			fputs(usage, stdout);
			return false;
		default:
			*rc = EXIT_USAGE;
			return false;
		}
	}
	if (o->test_devices ? optind < argc : o->conf != NULL && optind == argc)
		return true;
	fputs(usage, stderr);
	*rc = EXIT_USAGE;
	return false;
}

static int system_check(const struct conf *conf)
{
	pid_t by;

	return machine_check(conf) | host_iface_check(conf, dpdk_instance_held(conf, &by));
}

static int check(const char *path, const struct conf *conf)
{
	int rc = privilege_names_check(conf) | system_check(conf);
	int state_dir = state_dir_check(conf);

	if (rc < 0 || state_dir < 0)
		return -EIO;
	printf("%s: configuration is good\n", path);
	for (unsigned int i = 0; i < conf->n_ports; i++)
		printf("port \"%s\" faces the %s side\n", conf->ports[i].name,
			conf->ports[i].unprotected ? "unprotected" : "protected");
	conf_notes_print(conf, stdout);
	if (state_dir > 0)
		printf("note: state_dir \"%s\" does not exist: a start makes it; outbound SAs then "
		       "need --new-keys\n",
			conf->state_dir);
	return 0;
}

// Returns 0, or a negative number after a message.
static int serve(struct gateway *g, const struct options *o)
{
	const struct conf *conf;
	int rc;

	g->control.conf = revisions_begin(&g->control, g->control.conf);
	conf = g->control.conf;
	g->verbose = o->verbose;
	if (!g->verbose)
		log_set_level(conf->log_level);
	notify_start();
	log_info("version %s, instance %s, configuration %s", CULVERT_VERSION, conf->instance,
		o->conf);
	rc = control_thread_block_signals() | privilege_check(conf) | system_check(conf) |
	     announced_routes_check(conf) | RTE_MIN(state_dir_check(conf), 0);
	if (rc < 0 || dpdk_start(conf, o->verbose) < 0)
		return -EIO;
	rc = gateway_run(g) ? 0 : -EIO;
	dpdk_stop(g->control.conf);
	return rc;
}

int main(int argc, char **argv)
{
	struct gateway g = {.control = {.io = &control_thread_io,
				    .io_arg = &g,
				    .version = CULVERT_VERSION,
				    .lock = PTHREAD_MUTEX_INITIALIZER}};
	struct options o = {0};
	int rc;

	if (!options_read(&o, &rc, argc, argv))
		return rc;
	if (o.verbose)
		log_set_level(LOG_LEVEL_DEBUG);
	if (o.test_devices) {
		rc = device_test(CULVERT_VERSION, argv + optind, (unsigned int)(argc - optind));
		return rc == 0 ? EXIT_OK : EXIT_FAILED;
	}
	// One heap: with an arena for each of librte_telemetry's threads, every thread would keep
	// the 8 MB that a page of a list needs.
	mallopt(M_ARENA_MAX, 1);
	privilege_forbid_cores();
	if (!o.check_only)
		privilege_lock_memory();
	g.control.conf_path = o.conf;
	if (!o.check_only)
		log_start();
	g.control.conf = conf_load(o.conf, NULL, log_failures());
	if (g.control.conf == NULL)
		return EXIT_FAILED;
	if (o.check_only)
		rc = check(o.conf, g.control.conf);
	else if (o.new_keys)
		rc = state_keys_declare(g.control.conf, stdout);
	else
		rc = serve(&g, &o);
	conf_free(g.control.conf);
	return rc == 0 ? EXIT_OK : EXIT_FAILED;
}
