// SPDX-License-Identifier: BSD-3-Clause
// culvertctl devices: the network cards of this machine, and the needs of each to be a port.
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "nic.h"
#include "sysfs.h"

static json_t *text_or_null(const char *text)
{
	return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *row_new(const struct pci_nic *nic)
{
	struct nic_use use = nic_use_read(nic, SYSFS, "/proc");

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "device", nic->name, "id",
		text_or_null(nic->id), "interface", text_or_null(nic->interface), "driver",
		text_or_null(nic->driver), "iommu_group", text_or_null(nic->iommu_group),
		"numa_node", nic->numa_node >= 0 ? json_integer(nic->numa_node) : json_null(),
		"state", nic_state_name(use.state), "note", text_or_null(use.why));
}

static void rows_print(json_t *rows)
{
	if (json_array_size(rows) == 0)
		puts("There are no network cards on a PCI bus. Interfaces of the kernel can be "
		     "ports, too:\ndevice = \"net_af_packet0,iface=eth1\"");
	else
		output_rows(stdout, rows);
}

// The program that opens devices does it.
static enum exit_code devices_test(char **words)
{
	char *args[] = {
		"culvertd", "--test-devices", words[0], words[0] != NULL ? words[1] : NULL, NULL};

	if (words[0] == NULL || (words[1] != NULL && words[2] != NULL)) {
		warnx("devices --test: one device or two, as ports have them");
		return EXIT_USAGE;
	}
	execvp(args[0], args);
	warn("devices --test: culvertd");
	return EXIT_FAILED;
}

enum exit_code command_devices(const struct options *options, char **words)
{
	struct pci_nic *nics;
	json_t *rows;
	int n;

	if (options->test)
		return devices_test(words);
	if (words[0] != NULL) {
		warnx("devices: unexpected argument \"%s\"", words[0]);
		return EXIT_USAGE;
	}
	rows = json_array();
	n = pci_nics_read(&nics, SYSFS);
	for (int i = 0; i < n; i++)
		if (json_array_append_new(rows, row_new(&nics[i])) < 0)
			errx(EXIT_FAILED, "memory is short");
	free(nics);
	if (n < 0)
		warnx("cannot read the PCI bus: %s", strerror(-n));
	else if (options->json)
		return output_json(rows);
	else
		rows_print(rows);
	json_decref(rows);
	return n < 0 ? EXIT_FAILED : EXIT_OK;
}
