// SPDX-License-Identifier: BSD-3-Clause
// Requests about contents of lists that are done at once: flows and neighbours are removed, a trace
// starts and stops, a ping is sent. Their filters are those of filter.h. Control thread, without
// the gateway's lock.
#pragma once

#include "request_serve.h"

// flush: the workers remove the flows that match. flush-neighbours: removes the neighbours that
// match and are not static, and answers with their number. trace: "count=N" and conditions for
// packets; the answer is "trace NUMBER". trace-stop: "trace=NUMBER". ping:
// "tunnel=NAME,to=ADDRESS,size=OCTETS"; the answer is "ping NUMBER".
extern const struct request_at_once orders[];
