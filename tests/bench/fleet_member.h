// SPDX-License-Identifier: BSD-3-Clause
// A member of the fleet of bench_fleet: a process with the control thread of a gateway, its SAs and
// its client of etcd, without ports and workers that run. Traffic is that of fleet_traffic.h.
#pragma once

#include "conf.h"
#include "fleet_shared.h"

// Runs until it is to stop, and ends the process. It takes the configuration, with another member
// number and instance. Prints lines about itself, each with the time of the monotonic clock:
//
//   prepared MEMBER PID MS       its configuration is built
//   connects MEMBER RSS_KB MS
//   reads MEMBER MS              it has all keys for the first time
//   role MEMBER GROUP active|standby MS
//   stopped MEMBER MS
_Noreturn void fleet_member_run(
	struct conf *conf, unsigned int member, struct fleet_shared *shared);
