# shellcheck shell=bash disable=SC2154 # lab_root is of app/lab.sh, which the tests include
# SPDX-License-Identifier: BSD-3-Clause
# For tests of a pair of gateways (group.sh) with keepalived: an active gateway ends for each reason, under traffic of
# a hundred pings a second and TCP connections, two of three of them translated, and how long hosts have no answer.
# Sourced after group.sh and group_flows.sh. The test has these functions:
#
#   is_ready STANDBY ACTIVE    the standby follows
#   gateway_kill GATEWAY       with its programs; gateway_start starts them again
#   programs GATEWAY           their process ids

MOVES=${FAILOVER_MOVES-1} # for each reason
REASONS=${FAILOVER_REASONS-kill links stop command leave}
CONNECTIONS=${FAILOVER_CONNECTIONS-300}
# It is measured with the times of docs/pair.md. With few moves, a machine that has other things to do may be late by
# tenths of a second: both would be active again and again.
measured=$((MOVES >= 20))
deadline=$((measured ? 300 : 3000)) # milliseconds
advertise=$((measured ? 1 : 10))    # tenths of a second between advertisements
declare -A priority=([a]=200 [c]=100)
nat='nat = ( { name = "some"; action = "source"; source = "10.1.0.4/31"; destination = "10.2.0.2"; to = "10.1.0.1"; } );'
lab_extra[a]+=$nat lab_extra[c]+=$nat

# keepalived on both; a is active. Pings and connections begin.
ends_begin()
{
	ip -n "$lab_id-ga" address add 169.254.77.11/24 dev ha0
	ip -n "$lab_id-gc" address add 169.254.77.12/24 dev ha0
	ip -n "$lab_id-ha" address add 10.1.0.4/24 dev eth0
	ip -n "$lab_id-ha" address add 10.1.0.5/24 dev eth0
	keepalived_start a "${priority[a]}"
	poll grep -q 'Entering MASTER STATE' "$lab_dir/vrrp-a.out" || fail "keepalived of a: $(cat "$lab_dir/vrrp-a.out")"
	poll role_is a active || fail "keepalived has not made a active: $(cat "$lab_dir/vrrp-a.out")"
	keepalived_start c "${priority[c]}"
	poll grep -q 'Entering BACKUP STATE' "$lab_dir/vrrp-c.out" || fail "keepalived of c: $(cat "$lab_dir/vrrp-c.out")"
	poll on ha ping -q -c 1 -W 1 10.2.0.2 >/dev/null || fail "no traffic: $(ctl a show drops)"
	spawn ha ping -D -n -i 0.01 10.2.0.2 >"$lab_dir/pinged"
	pinger=$!
	flows_begin "$CONNECTIONS" hb 10.2.0.2 10.1.0.2 10.1.0.4 10.1.0.5
	active=a standby=c
}

# The packets that were lost at the last move have left the windows.
ends_end()
{
	poll answered_after "$EPOCHREALTIME" 1 || fail "no traffic at the end"
	flows_end clients
	flows_end server
	kill -INT "$pinger"
	wait "$pinger" || true
	tail -3 "$lab_dir/pinged"
	poll settled || fail "at the end: $(role a) $(role c)"
}

# GATEWAY...
keepalived_end()
{
	local g
	for g in "$@"; do
		kill "${vrrp[$g]}"
		wait "${vrrp[$g]}" || true
	done
}

# One of the two is active, and the other one follows it: active, standby.
settled()
{
	case "$(role a) $(role c)" in
	"active standby") active=a standby=c ;;
	"standby active") active=c standby=a ;;
	*) return 1 ;;
	esac
	both_in_sync && is_ready "$standby" "$active" && flows_known "$standby"
}

# A process and all that it has started.
tree()
{
	local child
	echo "$1"
	for child in $(pgrep -P "$1"); do
		tree "$child"
	done
}

# SIGNAL GATEWAY: to its programs, keepalived and its script.
programs_signal()
{
	local pids
	mapfile -t pids < <(tree "${vrrp[$2]}")
	# shellcheck disable=SC2046 # process ids
	kill "-$1" $(programs "$2") "${pids[@]}" 2>/dev/null || true # a question of the script may have ended
}

# After a failure, so that stopped programs can end.
ends_continue()
{
	(programs_signal CONT a) 2>/dev/null || true
	(programs_signal CONT c) 2>/dev/null || true
}
lab_undo+=(ends_continue)

# GATEWAY up|down
links_set()
{
	ip -n "$lab_id-g$1" link set ha0 "$2"
	ip -n "$lab_id-sw" link set "lan-$1" "$2"
	ip -n "$lab_id-sw" link set "wan-$1" "$2"
}

begin_kill() { gateway_kill "$1"; }
end_kill() { gateway_start "$1"; }
begin_links() { links_set "$1" down; }
end_links() { links_set "$1" up; }
frozen() { grep -c 'did not run for' "$lab_dir/$1.log"; }
frozen_more() { [[ $(frozen "$1") -gt $2 ]]; }
begin_stop()
{
	frozen_before=$(frozen "$1") || true
	programs_signal STOP "$1"
}
end_stop()
{
	sleep "$(((deadline + 999) / 1000))"
	programs_signal CONT "$1"
	poll frozen_more "$1" "$frozen_before" || fail "$1 has not noticed that it was stopped"
}
begin_leave() { keepalived_end "$1"; }
end_leave() { keepalived_start "$1" "${priority[$1]}"; }
begin_command() { ctl "$1" group main drain; }
end_command() { true; }

# Milliseconds of the longest time without an answer that ends after $1.
outage()
{
	tr -d '[]' <"$lab_dir/pinged" | awk -v from="$1" '/icmp_seq/ {
		if (last && $1 > from && $1 - last > longest) longest = $1 - last
		last = $1
	} END { printf "%.0f\n", 1000 * longest }'
}

# TIME SECONDS: there is an answer that long after it.
answered_after()
{
	tail -n 1 "$lab_dir/pinged" | tr -d '[]' | awk -v from="$1" -v s="$2" '{ late = $1 > from + s } END { exit !late }'
}

# PERCENT VALUE...: the smallest that at least this part of the values do not exceed.
percentile()
{
	local percent=$1
	shift
	printf '%s\n' "$@" | sort -n | awk -v p="$percent" '{ v[NR] = $1 } END { print v[int((NR * p + 99) / 100)] }'
}

# Packets that were sent to b.
sent() { on sw cat /sys/class/net/wan-b/statistics/tx_packets; }

# REASON MS: moves the group for that reason; if it is measured, with an outage of at most that many milliseconds in 95 of
# 100 cases, and less than a second of packets refused by the peer.
moves()
{
	local reason=$1 limit=$2 outages=() begin refused second most=0 i
	echo "== $reason"
	for ((i = 0; i < MOVES; i++)); do
		poll settled || fail "$reason, before move $i: roles $(role a) $(role c), $(ctl a show members)"
		second=$(sent)
		sleep 1
		second=$(($(sent) - second))
		refused=$(lab_dropped b replay)
		begin=$EPOCHREALTIME
		"begin_$reason" "$active"
		poll role_is "$standby" active || fail "$reason: $standby has not taken over: $(tail "$lab_dir/vrrp-$standby.out")"
		poll answered_after "$EPOCHREALTIME" 0.5 ||
			fail "$reason: no traffic by $standby: b $(ctl b show drops), $standby $(ctl "$standby" show drops)"
		outages+=("$(outage "$begin")")
		"end_$reason" "$active"
		poll settled || fail "$reason: after move $i: roles $(role a) $(role c), $(ctl a show members)"
		poll answered_after "$EPOCHREALTIME" 0.2 || fail "$reason: no traffic after it"
		flows_carried "$active"
		refused=$(($(lab_dropped b replay) - refused))
		((!measured || refused <= second)) || fail "$reason: b has refused $refused packets, more than the $second of a second"
		most=$((refused > most ? refused : most))
	done
	echo "$reason: ${outages[*]} ms: median $(percentile 50 "${outages[@]}"), p95 $(percentile 95 "${outages[@]}"); at most $most packets refused"
	((!measured || $(percentile 95 "${outages[@]}") <= limit)) || fail "$reason: longer than $limit ms"
}

# For all reasons, with the limits of docs/testing.md.
all_moves()
{
	local reason
	for reason in $REASONS; do
		case $reason in
		command | leave) moves "$reason" 300 ;;
		*) moves "$reason" 1000 ;;
		esac
	done
}
