# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Shared by the end-to-end tests: the laboratory, and functions for checks. A test is one executable file
# beside this one; it prints its steps and ends with status 0, or 77 and a reason: skipped.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../app/lab.sh"

culvertd=$lab_build/app/culvertd/culvertd
culvertctl=$lab_build/app/culvertctl/culvertctl
lab_keep=${LAB_KEEP-}
[[ -x $culvertd && -x $culvertctl ]] || fail "build first: meson setup build; ninja -C build"
lab_begin
# A command that fails where nothing reports it names itself.
set -E
trap '[[ $BASH_SUBSHELL -gt 0 ]] || echo "FAILED: ${BASH_SOURCE[0]}:$LINENO: $BASH_COMMAND" >&2' ERR
# Timers of all programs of the test may be half a millisecond late: workers that sleep while they have no packets, of
# many gateways at once, would take most of the CPUs otherwise.
echo 500000 >/proc/self/timerslack_ns

# [all]: lines of lab_algorithms: one of each kind, or all.
algorithms()
{
	local kinds='null +hmac-sha1|aes-128-cbc +hmac-sha2-256|aes-256-ctr|aes-128-gcm |aes-256-gmac|chacha20'
	[[ ${1-} != all ]] || kinds=.
	grep -E "^($kinds)" <<<"$lab_algorithms"
}

# WHAT GOT WANTED
equal()
{
	[[ $2 == "$3" ]] || fail "$1: got $2, wanted $3"
}

# WHAT NUMBER LEAST
at_least()
{
	[[ $2 -ge $3 ]] || fail "$1: got $2, wanted $3 or more"
}

# WHAT TEXT PATTERN: the text matches the extended regular expression.
matches()
{
	grep -qE -- "$3" <<<"$2" || fail "$1: nothing matches '$3' in: $2"
}

# NAMESPACE ADDRESS [PING-ARGUMENT...]: five pings, or the number in the arguments, without loss. (With a
# deadline, ping would send more of them.)
pings()
{
	local before said
	before=$(replies "$1")
	said=$(on "$1" timeout 300 ping -q -n -i 0.01 -c 5 -W 2 "${@:3}" "$2") || true
	answered_all "ping from $1 to $2 ${*:3}" "$1" "$before" "$said"
}

# GATEWAY REASON NUMBER: at least that many packets were dropped for it.
drops_reach()
{
	[[ $(lab_dropped "$1" "$2") -ge $3 ]]
}

# DPDK's name of a worker's thread, without its number: the second since version 23.11.
worker_thread='(rte-worker-|dpdk-worker)'

# GATEWAY NAME: the number of the daemon's thread whose name matches. Others may end in between.
thread_of()
{
	{ grep -slxE -- "$2" "/proc/${lab_pid[$1]}"/task/*/comm || true; } | cut -d / -f 5
}

# GATEWAY LCORE: the same of a worker.
worker_of()
{
	thread_of "$1" "$worker_thread$2"
}

# GATEWAY...: the end of a test: every packet is accounted for, and the daemons stop with status 0.
finish()
{
	lab_conserved "$@"
	lab_stop "$@"
}
