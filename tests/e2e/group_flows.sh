# shellcheck shell=bash disable=SC2154 # lab_root is of app/lab.sh, which the tests include
# SPDX-License-Identifier: BSD-3-Clause
# For tests of a pair of gateways (group.sh): connections from host A, which all have to continue when the group moves.
# Sourced after group.sh.

# GATEWAY...: room for ten thousands of flows.
flows_room()
{
	local g
	for g in "$@"; do
		sed -i 's|flows = { max = 10000; };|flows = { max = 65536; };|' "$lab_dir/$g.conf"
	done
}

# COUNT NAMESPACE SERVER CLIENT...: that many connections, from each of these addresses as many, with a server there.
flows_begin()
{
	# asyncio has 256 KiB of memory for each message, which malloc() would get from the kernel each time.
	local program=(env MALLOC_MMAP_THRESHOLD_=1000000 MALLOC_TRIM_THRESHOLD_=10000000
		/usr/bin/python3 "$lab_root/tests/e2e/failover_flows.py")
	flows_least=$(($1 + $# - 3))
	spawn "$2" "${program[@]}" server "$3" >"$lab_dir/server" 2>"$lab_dir/errors"
	lab_pid[server]=$!
	poll grep -q listening "$lab_dir/server" || fail "the server does not start: $(<"$lab_dir/errors")"
	spawn ha "${program[@]}" clients "$3" "$1" "${@:4}" >"$lab_dir/rounds" 2>"$lab_dir/clients"
	lab_pid[clients]=$!
	poll rounds_reach 2 || true
	flows_go_on || fail "no connections: $(tail -3 "$lab_dir/clients")"
}

# Ends the program, clients or server.
flows_end()
{
	kill "${lab_pid[$1]}"
	wait "${lab_pid[$1]}" || true
	unset "lab_pid[$1]"
}

rounds() { wc -l <"$lab_dir/rounds"; }

# NUMBER: that many rounds are over. It ends at once if the clients do.
rounds_reach() { [[ $(rounds) -ge $1 ]] || ! flows_go_on; }

flows_go_on() { kill -0 "${lab_pid[clients]}" 2>/dev/null; }

# GATEWAY: connections continue by it.
flows_carried()
{
	poll rounds_reach $(($(rounds) + 3)) || fail "no rounds by $1: $(ctl "$1" show drops)"
	flows_go_on || fail "connections have ended: $(tail -3 "$lab_dir/clients")"
}

# GATEWAY: it has all flows.
flows_known() { [[ $(lab_total "$1" flows) -ge $flows_least ]]; }
