# SPDX-License-Identifier: BSD-3-Clause
# Commands in the background, each with a process group of its own. Sourced by tests/run.

declare -A running=() # by process group: WHAT, and since when

# WHAT COMMAND...: starts it in a process group of its own, so that a signal sent to this script alone ends it
# as well. Its namespaces and daemons would outlive it otherwise.
start_group()
{
	set -m
	"${@:2}" </dev/null &
	set +m
	running[$!]="$1 $EPOCHREALTIME"
}

# Waits until one has ended. Sets group, which is taken from running by the caller, and status. A command that a signal
# has ended while nobody waited is forgotten by "wait -n", but not by "wait" with its number.
await_group()
{
	local each
	group=''
	while [[ -z $group ]]; do
		status=0
		for each in "${!running[@]}"; do
			kill -0 "$each" 2>/dev/null || group=$each
		done
		if [[ -n $group ]]; then
			wait "$group" || status=$?
		else
			wait -n -p group "${!running[@]}" || status=$?
		fi
	done
}
