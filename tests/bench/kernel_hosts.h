// SPDX-License-Identifier: BSD-3-Clause
// Hosts beside a gateway of the kernel: frames are sent by packet sockets, and counted where they
// arrive. The kernel forwards them on the CPU that sends, before the call returns.
#pragma once

#include <stdint.h>

#include "batch.h"

#define KERNEL_HOSTS_BURST 32

// Their interfaces. Frames from the last one are dropped where they arrive.
enum kernel_host { HOST_LAN, HOST_WAN, HOST_NOWHERE, KERNEL_HOSTS };

struct kernel_hosts;

// names: of the interfaces, separated by commas. Ends the program if it cannot send there.
struct kernel_hosts *kernel_hosts_new(const char *names);
void kernel_hosts_free(struct kernel_hosts *h); // NULL is allowed

// Sends a burst of the batch's frames, from the first one on.
void kernel_hosts_send(
	struct kernel_hosts *h, enum kernel_host host, const struct batch *b, unsigned int first);

// Waits until all frames sent from LAN and WAN have arrived at the other one, or none has for a
// while.
void kernel_hosts_wait(struct kernel_hosts *h);

// Frames that have not arrived so far.
uint64_t kernel_hosts_lost(struct kernel_hosts *h);
