// SPDX-License-Identifier: BSD-3-Clause
// System calls that the daemon's threads may make once everything is open (seccomp(2), by
// libseccomp). Any other fails with EPERM, and the kernel's audit log has it.
#pragma once

// All present threads and their future ones: files, sockets, memory and threads; no other programs,
// no signals to others, no other users, no tracing, no mounts, no keys of the kernel. Returns 0, or
// -EIO after logging the reason. Control thread, before workers run.
int sandbox_enter(void);

// The calling thread, in addition: only system calls that drivers need to move frames. Returns 0 or
// -errno. A worker, when it begins.
int sandbox_enter_worker(void);

// The same for the thread of the channel between the gateways of a pair: only system calls for
// sockets of the network.
int sandbox_enter_channel(void);

// The same for the thread of the client of etcd, which connects, and does not listen.
int sandbox_enter_etcd(void);
