// SPDX-License-Identifier: BSD-3-Clause
// What DPDK logs: kept back, and shown only if that turns out to be of use. All threads share one
// text, as drivers log in threads of their own. The control thread, at the start and the end,
// unless said otherwise.
#pragma once

#include <stdbool.h>

// Whether all is shown at once, and nothing kept back. Before the first eal_log_begin().
void eal_log_verbose(bool verbose);

// Between the two, what DPDK logs is kept back. At the end it is shown, or dropped. Several
// threads may do so at the same time: the one that shows, shows all. Any thread but workers.
void eal_log_begin(void);
void eal_log_end(bool show);

// Ends the same for the start of DPDK, which looks at PCI devices, and keeps what was logged.
void eal_log_keep(void);

// Shows what was kept of the start, once.
void eal_log_start_show(void);

// Frees it.
void eal_log_forget(void);
