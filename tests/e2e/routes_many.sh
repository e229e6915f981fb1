# shellcheck shell=bash disable=SC2154,SC2034 # variables of app/lab.sh and for it
# SPDX-License-Identifier: BSD-3-Clause
# Shared by tests with more routes of the kernel than ip makes in time.
. "$(dirname "$0")/routes.sh"

lab_ipv6=yes
lab_memory[a]="size = 192; hugepages = false;"

many() { on ga "$(dirname "$0")/kernel_routes.py" "$@"; }
object() { ip -n "$lab_id-ga" nexthop "$@"; }
# The daemon's memory in KB: resident, without the packet buffers.
memory() { awk '/^VmRSS/ { print $2 }' "/proc/${lab_pid[a]}/status"; }
# NUMBER: routes of the gateway; then those of the kernel are compared with them, prefix by prefix.
has()
{
	counts routes "$1"
	poll is_equal || fail "the gateway has other routes: $(diff "$lab_dir/wanted" "$lab_dir/got" | head -n 20) $(ctl a show kernel)"
}
is_equal()
{
	{ on ga ip -4 route show proto bgp && on ga ip -6 route show proto bgp; } |
		sed -E 's/^([^ ]+) nhid [0-9]+ via ([^ ]+) .*/\1 \2/' | sort >"$lab_dir/wanted"
	ctl a --json show routes owner kernel | jq -r '.[] | "\(.to) \(.via)"' | sort >"$lab_dir/got"
	cmp -s "$lab_dir/wanted" "$lab_dir/got"
}

# With one next-hop object of the kernel for each of two stations, and one of IPv6.
routes_many_up()
{
	routes_up
	follow 'protocols = [ "bgp" ]'
	ip -n "$lab_id-ga" link set lo up
	lab_start a b
	poll object add id 1 via 192.0.2.2 dev hwan || fail "no interface"
	object add id 2 via 192.0.2.9 dev hwan
	poll object add id 6 via 2001:db8:f::2 dev hwan || fail "no address of IPv6"
	lab_pinged=10.2.0.2
}
