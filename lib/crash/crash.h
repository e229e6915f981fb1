// SPDX-License-Identifier: BSD-3-Clause
// A crash leaves a core with the stacks and registers of all threads and the variables of programs,
// without keys, and a line on standard error with its place.
#pragma once

// Makes the signals of a crash, an abort and SIGQUIT write such a core, where limits and
// kernel.core_pattern allow one. If a step fails, there is no core. Only on x86: vector registers
// of other processors are not wiped. Control thread, when all libraries are loaded and before
// workers run; a warning is logged if there will be no cores.
void crash_start(void);

// Lets workers survive the removal of a card whose registers they access. After crash_start().
void crash_survive_unplugging(void);
