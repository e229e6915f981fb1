# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Shared by the stress tests: traffic in both directions, of which nothing may be lost, duplicated
# or out of order while configurations change.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

stream=$(dirname "${BASH_SOURCE[0]}")/stream.py
declare -a senders=() receivers=()

# FROM TO ADDRESS PROTO PORT: at full speed, but processes that change configurations have priority.
stream_start()
{
	spawn "$2" nice -n 5 "$stream" receive "$4" "$3" "$5" >"$lab_dir/received.$5"
	receivers+=($!)
	poll stream_waits "$2" "$5" || fail "no process listens on port $5"
	spawn "$1" nice -n 5 "$stream" send "$4" "$3" "$5"
	senders+=($!)
}

# NAMESPACE PORT
stream_waits()
{
	on "$1" ss -Htuln | grep -q ":$2 "
}

traffic_start()
{
	pings ha 10.2.0.2
	pings hb 10.1.0.2
	stream_start ha hb 10.2.0.2 udp 5001
	stream_start hb ha 10.1.0.2 udp 5002
	stream_start ha hb 10.2.0.2 tcp 5003
}

# Ends the traffic: all of it was received, in order.
traffic_stop()
{
	local i
	kill -TERM "${senders[@]}"
	for i in "${senders[@]}"; do
		wait "$i" || fail "a sender failed"
	done
	for i in "${!receivers[@]}"; do
		wait "${receivers[i]}" || fail "$(<"$lab_dir/received.$((5001 + i))")"
		cat "$lab_dir/received.$((5001 + i))"
	done
}

# GATEWAY...: they have dropped nothing but packets whose ICMP errors made TCP reduce its segments.
nothing_dropped()
{
	local g
	for g in "$@"; do
		equal "drops of $g" "$(ctl "$g" --json show drops |
			jq '[.[] | select(.reason != "too_big") | .packets] | add // 0')" 0
	done
}

# PROCESS-ID: prints its memory in KB, without hugepages.
resident()
{
	awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"
}

# GATEWAY: prints the longest time between two passes of a worker, in us.
longest_round()
{
	ctl "$1" --json show workers | jq '[.[].longest_round_us] | max'
}

# GATEWAY PATTERN NUMBER: waits until NUMBER lines of its log match.
logged()
{
	[[ $(grep -cE -- "$2" "$lab_dir/$1.log") -ge $3 ]]
}

declare -A reloads=([a]=0 [b]=0) refusals=([a]=0 [b]=0)

# GATEWAY: reloads a valid file.
reload_good()
{
	reloads[$1]=$((reloads[$1] + 1))
	ctl "$1" --new-keys reload >/dev/null || fail "gateway $1 refuses"
	poll logged "$1" "culvertd: reloaded, generation $((reloads[$1] + 1))$" 1 ||
		fail "gateway $1 does not reload"
}

# GATEWAY: reloads an invalid file.
reload_bad()
{
	refusals[$1]=$((refusals[$1] + 1))
	kill -HUP "${lab_pid[$1]}"
	poll logged "$1" "reload refused, the running configuration is unchanged" "${refusals[$1]}" ||
		fail "gateway $1 accepts an invalid file"
}
