// SPDX-License-Identifier: BSD-3-Clause
#include "dpdk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_log.h>
#include <rte_pdump.h>

#include "eal_log.h"
#include "log.h"
#include "machine.h"
#include "numa.h"
#include "sysfs.h"

#define ARGS_MAX      64
#define HUGEPAGE_SIZE "hugepages-2048kB" // the ones to advise

static DIR *files; // the folder of its files

// Megabytes that DPDK gets: the flow table takes its part of memory.size from the kernel itself.
static unsigned int dpdk_mb(const struct conf *conf)
{
	return conf->memory_mb - conf->flow_memory_mb;
}

// --- hugepages ---

#define FOLDER_MAX 64

// Where the kernel keeps the hugepages of a node, -1: of the machine.
static void hugepages_folder(char folder[FOLDER_MAX], int node)
{
	if (node < 0)
		snprintf(folder, FOLDER_MAX, SYSFS "/kernel/mm/hugepages");
	else
		snprintf(folder, FOLDER_MAX, SYSFS "/devices/system/node/node%d/hugepages", node);
}

// Hugepages of one size in the kernel's list, 0 if it has none of that size.
static unsigned long hugepages_number(const char *folder, const char *size, const char *what)
{
	unsigned long n = 0;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/%s", folder, size, what);

	FILE *f = fopen(path, "re");

	if (f != NULL && fscanf(f, "%lu", &n) != 1)
		n = 0;
	if (f != NULL)
		fclose(f);
	return n;
}

// Megabytes in free hugepages of all sizes.
static unsigned long hugepages_free_mb(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned long mb = 0;
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		unsigned long kb;

		if (sscanf(d->d_name, "hugepages-%lukB", &kb) == 1)
			mb += hugepages_number(folder, d->d_name, "free_hugepages") * kb / 1024;
	}
	if (dir != NULL)
		closedir(dir);
	return mb;
}

static void hugepages_remove_from(const char *folder, const struct conf *conf)
{
	DIR *dir = opendir(folder);
	char prefix[CONF_NAME_MAX + 16];
	int len = snprintf(prefix, sizeof(prefix), "culvert-%smap_", conf->instance);
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (strncmp(d->d_name, prefix, (size_t)len) == 0 &&
			d->d_name[len + (int)strspn(d->d_name + len, "0123456789")] == '\0')
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir != NULL)
		closedir(dir);
}

// Removes the files of the instance's hugepages, which frees the pages: files that DPDK leaves for
// attaching (capture), and files of a daemon that crashed. Without permission, as another user, it
// cannot; then the next start does. The instance must not be running. Returns the number of mounts
// of hugetlbfs, the places of such files.
static unsigned int hugepages_remove(const struct conf *conf)
{
	FILE *mounts = setmntent("/proc/mounts", "re");
	struct mntent *m;
	unsigned int n = 0;

	while (mounts != NULL && (m = getmntent(mounts)) != NULL) {
		if (strcmp(m->mnt_type, "hugetlbfs") != 0)
			continue;
		n++;
		hugepages_remove_from(m->mnt_dir, conf);
	}
	if (mounts != NULL)
		endmntent(mounts);
	return n;
}

// Removes the files of an earlier daemon and checks for enough hugepages. Returns 0, or -EIO after
// logging the shortage and the remedy.
static int hugepages_check(const struct conf *conf)
{
	unsigned int mounts = hugepages_remove(conf);
	char folder[FOLDER_MAX];
	unsigned long mb;
	int rc = 0;

	hugepages_folder(folder, numa_node(conf, SYSFS));
	mb = hugepages_free_mb(folder);
	if (mb < dpdk_mb(conf)) {
		log_error(
			"memory.size: %u MB in hugepages are needed, %lu MB are free: reserve them "
			"with 'echo %lu > %s/" HUGEPAGE_SIZE "/nr_hugepages', or set "
			"memory.hugepages = false (slower)",
			dpdk_mb(conf), mb,
			hugepages_number(folder, HUGEPAGE_SIZE, "nr_hugepages") +
				(dpdk_mb(conf) - mb + 1) / 2,
			folder);
		rc = -EIO;
	}
	if (mounts == 0) {
		log_error(
			"memory.hugepages: no hugetlbfs is mounted: 'mkdir -p /dev/hugepages && "
			"mount -t hugetlbfs none /dev/hugepages', or set memory.hugepages = false");
		rc = -EIO;
	}
	return rc;
}

// --- arguments ---

struct args {
	int n;
	char *v[ARGS_MAX];
	bool failed;
};

static __attribute__((format(printf, 2, 3))) void arg(struct args *a, const char *fmt, ...)
{
	va_list ap;

	if (a->n == ARGS_MAX - 1) {
		a->failed = true;
		return;
	}
	va_start(ap, fmt);
	if (vasprintf(&a->v[a->n], fmt, ap) < 0)
		a->failed = true;
	else
		a->n++;
	va_end(ap);
}

// Lcore numbers are ours, CPU numbers are the user's; several lcores may share a CPU.
static void lcores_arg(struct args *a, const struct conf *conf)
{
	char list[16 * (CONF_WORKERS_MAX + 1)];
	int len = snprintf(list, sizeof(list), "%u@%u", DPDK_CONTROL_LCORE, conf->control_cpu);

	for (unsigned int i = 0; i < conf->n_workers; i++)
		len += snprintf(list + len, sizeof(list) - (size_t)len, ",%u@%u", i + 1,
			conf->worker_cpus[i]);
	arg(a, "--lcores=%s", list);
}

static void devices_arg(struct args *a, const struct conf *conf)
{
	bool pci = false;

	for (unsigned int i = 0; i < conf->n_devices; i++) {
		const char *device = conf->devices[i].device;

		if (conf_device_is_virtual(device) || conf_device_is_representor(device))
			continue;
		arg(a, "--allow=%s", device);
		pci |= conf_device_is_pci(device);
	}
	if (!pci)
		arg(a, "--no-pci");
}

// In hugepages, all of it on the gateway's node.
static void memory_arg(struct args *a, const struct conf *conf)
{
	int node = conf->hugepages ? numa_node(conf, SYSFS) : -1;
	char list[2 * NUMA_NODES_MAX + 16] = "";

	for (int i = 0; i < node; i++)
		strcat(list, "0,");
	if (node < 0)
		arg(a, "-m%u", dpdk_mb(conf));
	else
		arg(a, "--socket-mem=%s%u", list, dpdk_mb(conf));
}

static void args_build(struct args *a, const struct conf *conf)
{
	arg(a, "culvertd");
	lcores_arg(a, conf);
	devices_arg(a, conf);
	arg(a, "--file-prefix=culvert-%s", conf->instance);
	memory_arg(a, conf);
	if (conf->hugepages) {
		// A process that attaches opens the files of the memory by their names.
		arg(a, "--huge-unlink=%s", conf->capture ? "existing" : "always");
	} else {
		arg(a, "--no-huge");
		arg(a, "--iova-mode=va");
	}
	for (unsigned int i = 0; i < conf->n_eal_args; i++)
		arg(a, "%s", conf->eal_args[i]);
}

// --- before the start ---

static int cpus_check(const struct conf *conf)
{
	cpu_set_t set;
	int rc = 0;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 0; // then DPDK finds out
	for (unsigned int i = 0; i <= conf->n_workers; i++) {
		unsigned int cpu = i == 0 ? conf->control_cpu : conf->worker_cpus[i - 1];

		if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set))
			continue;
		log_error("cpus.%s: CPU %u is not available to this process: use one of those "
			  "that 'taskset -cp $$' shows",
			i == 0 ? "control" : "workers", cpu);
		rc = -EIO;
	}
	return rc;
}

// Without hugepages DPDK allocates all memory at once: too much would end other processes.
static int available_check(const struct conf *conf)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long kb = ULONG_MAX; // then DPDK finds out
	char line[128];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "MemAvailable: %lu kB", &kb) == 1)
			break;
	if (f != NULL)
		fclose(f);
	if (kb / 1024 >= conf->memory_mb)
		return 0;
	log_error("memory.size: %u MB are needed, %lu MB are available (MemAvailable in "
		  "/proc/meminfo): set a smaller memory.size, or free memory",
		conf->memory_mb, kb / 1024);
	return -EIO;
}

static void run_dir(char *path, size_t size, const struct conf *conf, const char *file)
{
	// As rte_eal_get_runtime_dir() decides, which tells only after the start.
	const char *base = getenv("RUNTIME_DIRECTORY");

	if (base == NULL)
		base = geteuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
	if (base == NULL)
		base = "/tmp";
	snprintf(path, size, "%s/dpdk/culvert-%s%s", base, conf->instance, file);
}

bool dpdk_instance_held(const struct conf *conf, pid_t *by)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[256];

	run_dir(path, sizeof(path), conf, "/config");

	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return false;

	int rc = fcntl(fd, F_GETLK, &lock);

	close(fd);
	*by = lock.l_pid;
	return rc == 0 && lock.l_type != F_UNLCK;
}

// Another user has no access to the folder by its name any more.
static void files_find(const struct conf *conf)
{
	char path[256];

	run_dir(path, sizeof(path), conf, "");
	files = opendir(path);
}

static void files_clear(DIR *dir)
{
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL)
		unlinkat(dirfd(dir), d->d_name, 0);
	if (dir != NULL)
		closedir(dir);
}

// The folder may belong to the user that an earlier daemon became. DPDK would follow links in it,
// and use files that processes of that user have open. Returns 0, or -EIO after logging why not.
static int files_take(const struct conf *conf)
{
	char path[256];
	int fd;

	run_dir(path, sizeof(path), conf, "");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd >= 0 && fchown(fd, geteuid(), (gid_t)-1) == 0 && fchmod(fd, 0700) == 0) {
		files_clear(fdopendir(fd));
		return 0;
	}
	log_error("%s: cannot be taken over: %s; remove it", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -EIO;
}

// DPDK leaves its files until the next start of the same name. The folder itself stays if that is
// another user's.
static void files_remove(const struct conf *conf)
{
	char path[256];

	files_clear(files);
	files = NULL;
	run_dir(path, sizeof(path), conf, "");
	rmdir(path);
}

// Checks everything that is known before DPDK starts, and logs all faults at once.
static int system_check(const struct conf *conf)
{
	int rc = cpus_check(conf);
	pid_t other;

	numa_check(conf, SYSFS);
	if (dpdk_instance_held(conf, &other)) {
		log_error("instance \"%s\" is already running as process %d: stop that one, or "
			  "give this one another name with 'instance' in its configuration",
			conf->instance, (int)other);
		return -EIO; // another shortage: that one is logged
	}
	rc |= files_take(conf);
	rc |= conf->hugepages ? hugepages_check(conf) : available_check(conf);
	rc |= devices_take(conf);
	return rc;
}

static int init(struct args *a, const struct conf *conf)
{
	char *argv[ARGS_MAX]; // DPDK changes the order, and we free them
	pid_t other;
	int rc;

	memcpy(argv, a->v, sizeof(argv));
	umask(umask(077) | 022); // DPDK leaves the modes of its files to it
	eal_log_begin();
	rc = rte_eal_init(a->n, argv);
	eal_log_keep();
	files_find(conf);
	if (rc >= 0)
		return 0;
	eal_log_start_show();
	log_error("DPDK did not start, see its lines above; check memory.size, "
		  "memory.hugepages, cpus and eal_args");
	if (!dpdk_instance_held(conf, &other))
		files_remove(conf);
	return -EIO;
}

int dpdk_start(const struct conf *conf, bool verbose)
{
	struct args a = {0};
	int rc;

	eal_log_verbose(verbose);
	if (system_check(conf) != 0)
		return -EIO;
	args_build(&a, conf);
	if (a.failed) {
		log_error("eal_args: more than %d arguments in total", ARGS_MAX - 1);
		rc = -EIO;
	} else {
		rc = init(&a, conf);
	}
	if (!verbose)
		rte_log_set_global_level(RTE_LOG_WARNING);
	for (int i = 0; i < a.n; i++)
		free(a.v[i]);
	return rc;
}

int dpdk_share(const struct conf *conf)
{
	if (rte_pdump_init() < 0) {
		log_error("capture: out of memory for its counters: raise memory.size");
		return -ENOMEM;
	}
	// The user of the daemon is to answer through sockets that root makes; nobody else gets to
	// them, whatever their mode is.
	log_info("capture: root can capture packets with \"%sdpdk-dumpcap -p "
		 "--file-prefix=culvert-%s -i DEVICE -w FILE\"",
		conf->user != NULL ? "umask 0; " : "", conf->instance);
	return 0;
}

void dpdk_stop(const struct conf *conf)
{
	eal_log_begin();
	rte_eal_cleanup();
	eal_log_end(false);
	eal_log_forget();
	hugepages_remove(conf);
	files_remove(conf);
}
