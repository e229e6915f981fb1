// SPDX-License-Identifier: BSD-3-Clause
// culvertctl bind and unbind: give network cards to DPDK's drivers, and back to the kernel's.
#include <err.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "command.h"
#include "nic.h"
#include "sysfs.h"

#define PROC "/proc"

extern char **environ;

#define NO_IOMMU                                                                                   \
	"turn the IOMMU on in the firmware and with 'intel_iommu=on' (AMD: nothing) on the "       \
	"kernel's command line; in a VM without one, do without its protection:\n"                 \
	"  modprobe vfio enable_unsafe_noiommu_mode=1\n"                                           \
	"  echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode\n"                      \
	"or, if the kernel lacks this parameter, as Debian's do:\n"                                \
	"  culvertctl --driver uio_pci_generic bind %s"

// A card by its PCI address, also without the domain, or by its interface.
static int find(struct pci_nic *nic, const char *name)
{
	char address[PCI_NIC_NAME_MAX];
	struct pci_nic *nics;
	int n, rc = pci_nic_read(nic, SYSFS, name);

	if (rc == 0)
		return 0;
	if (strlen(name) + strlen("0000:") < sizeof(address)) {
		stpcpy(stpcpy(address, "0000:"), name);
		if (pci_nic_read(nic, SYSFS, address) == 0)
			return 0;
	}
	n = pci_nics_read(&nics, SYSFS);
	for (int i = 0; i < n; i++)
		if (strcmp(nics[i].interface, name) == 0) {
			*nic = nics[i];
			rc = 0;
		}
	free(nics);
	return rc;
}

// Finds all cards that the words name, into an array to be freed. Prints every mistake. Returns how
// many there are, 0 after a mistake.
static unsigned int find_all(struct pci_nic **nics, const char *command, char **words)
{
	unsigned int n = 0, found = 0;

	while (words[n] != NULL)
		n++;
	if (n == 0)
		errx(EXIT_USAGE,
			"%s: expected a PCI address or interface: see 'culvertctl devices'",
			command);
	*nics = calloc(n, sizeof(**nics));
	if (*nics == NULL)
		err(EXIT_FAILED, NULL);
	for (unsigned int i = 0; i < n; i++) {
		int rc = find(&(*nics)[i], words[i]);

		if (rc == 0)
			found++;
		else
			warnx("%s: %s \"%s\": see 'culvertctl devices'", command,
				rc == -ENODEV ? "this is no network card:"
					      : "there is no network card",
				words[i]);
	}
	return found == n ? n : 0;
}

// Loads the kernel's module unless it is there. False after a message.
static bool load(const char *driver)
{
	char *argv[] = {"modprobe", (char *)driver, NULL};
	char path[128];
	struct stat st;
	int rc, status = 0;
	pid_t pid;

	snprintf(path, sizeof(path), SYSFS "/bus/pci/drivers/%s", driver);
	if (stat(path, &st) == 0)
		return true;
	rc = posix_spawnp(&pid, "modprobe", NULL, NULL, argv, environ);
	if (rc == 0)
		waitpid(pid, &status, 0);
	if (rc == 0 && status == 0 && stat(path, &st) == 0)
		return true;
	warnx("bind: cannot load the kernel's module %s: %s", driver,
		rc != 0 ? strerror(rc) : "see modprobe's message");
	return false;
}

// Whether nothing speaks against it. False after a message.
static bool may_bind(const struct pci_nic *nic, const struct options *options)
{
	struct nic_use use = nic_use_read(nic, SYSFS, PROC);
	bool vfio = pci_driver_is_vfio(options->driver);

	if (use.state == NIC_NEEDED && !options->force) {
		warnx("bind: %s: %s: with --force the machine loses that", nic->name, use.why);
		return false;
	}
	if (use.state == NIC_OPEN) {
		warnx("bind: %s: %s: stop it first", nic->name, use.why);
		return false;
	}
	if (vfio && nic->iommu_group[0] == '\0' && !pci_vfio_without_iommu(SYSFS)) {
		warnx("bind: %s is not behind an IOMMU, which vfio-pci needs: " NO_IOMMU, nic->name,
			nic->name);
		return false;
	}
	return true;
}

static bool is_done(const struct pci_nic *nic, const struct options *options)
{
	return strcmp(nic->driver, options->driver) == 0 || pci_driver_is_shared(nic->driver);
}

static enum exit_code change_failed(const char *command, const struct pci_nic *nic, int rc)
{
	if (rc == -EACCES || rc == -EPERM || rc == -EROFS)
		warnx("%s: %s: %s: run this as root, outside of containers", command, nic->name,
			strerror(-rc));
	else if (rc == -ENODEV)
		warnx("%s: %s: the driver did not take it, see 'dmesg'; its driver is %s now",
			command, nic->name, nic->driver[0] != '\0' ? nic->driver : "none");
	else
		warnx("%s: %s: %s", command, nic->name, strerror(-rc));
	return EXIT_FAILED;
}

static enum exit_code bind_one(struct pci_nic *nic, const struct options *options)
{
	struct nic_use use;
	int rc = 0;

	if (!is_done(nic, options))
		rc = nic_bind(nic, SYSFS, options->driver);
	if (rc < 0)
		return change_failed("bind", nic, rc);
	use = nic_use_read(nic, SYSFS, PROC);
	printf("%s: driver %s%s%s: device = \"%s\"\n", nic->name, nic->driver,
		use.why[0] != '\0' ? ", " : "", use.why, nic->name);
	return EXIT_OK;
}

enum exit_code command_bind(const struct options *options, char **words)
{
	enum exit_code code = EXIT_OK;
	struct pci_nic *nics;
	unsigned int n = find_all(&nics, "bind", words), allowed = 0, missing = 0;

	for (unsigned int i = 0; i < n; i++) {
		bool done = is_done(&nics[i], options);

		missing += !done;
		allowed += done || may_bind(&nics[i], options);
	}
	if (n == 0 || allowed < n || (missing > 0 && !load(options->driver)))
		code = EXIT_FAILED;
	for (unsigned int i = 0; i < n && code == EXIT_OK; i++)
		code = bind_one(&nics[i], options);
	free(nics);
	return code;
}

static bool may_unbind(const struct pci_nic *nic)
{
	struct nic_use use = nic_use_read(nic, SYSFS, PROC);

	if (use.state == NIC_OPEN && !pci_driver_is_shared(nic->driver)) {
		warnx("unbind: %s: %s: stop it first", nic->name, use.why);
		return false;
	}
	return true;
}

static enum exit_code unbind_one(struct pci_nic *nic)
{
	int rc = 0;

	if (pci_driver_is_for_dpdk(nic->driver) && !pci_driver_is_shared(nic->driver))
		rc = nic_bind(nic, SYSFS, NULL);
	if (rc < 0)
		return change_failed("unbind", nic, rc);
	printf("%s: driver %s%s%s\n", nic->name, nic->driver[0] != '\0' ? nic->driver : "none",
		nic->interface[0] != '\0' ? ", interface " : "", nic->interface);
	return EXIT_OK;
}

enum exit_code command_unbind(const struct options *options, char **words)
{
	enum exit_code code = EXIT_OK;
	struct pci_nic *nics;
	unsigned int n = find_all(&nics, "unbind", words), allowed = 0;

	(void)options;
	for (unsigned int i = 0; i < n; i++)
		allowed += may_unbind(&nics[i]);
	if (n == 0 || allowed < n)
		code = EXIT_FAILED;
	for (unsigned int i = 0; i < n && code == EXIT_OK; i++)
		code = unbind_one(&nics[i]);
	free(nics);
	return code;
}
