// SPDX-License-Identifier: BSD-3-Clause
// Lines that DPDK logs are held back, and shown only if they explain a failure. All threads share
// one text, as drivers log in threads of their own. The control thread, at the start and the end,
// unless noted otherwise.
#pragma once

#include <stdbool.h>

// Sets whether all lines are shown at once. Before the first eal_log_begin().
void eal_log_verbose(bool verbose);

// Between the two, lines of DPDK are held back. At the end they are shown, or dropped. Several
// threads may call them at the same time: the one that shows, shows all. Any thread but workers.
void eal_log_begin(void);
void eal_log_end(bool show);

// Ends the same for the start of DPDK, which looks at PCI devices, and keeps the lines.
void eal_log_keep(void);

// Shows the lines of the start, once.
void eal_log_start_show(void);

// Frees them.
void eal_log_forget(void);
