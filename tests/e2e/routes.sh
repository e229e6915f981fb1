# shellcheck shell=bash disable=SC2154,SC2034 # variables of app/lab.sh and for it
# SPDX-License-Identifier: BSD-3-Clause
# Shared by tests of the kernel's routes behind the ports of gateway a. Only its kernel has routes to further networks of
# host B; the packets between the hosts go in clear.
. "$(dirname "$0")/host.sh"

host_rules='{ name = "none"; host = true; action = "drop"; }'

# [IP-ROUTE-ARGUMENT...]: changes the routes of gateway a's kernel.
route() { ip -n "$lab_id-ga" route "$@"; }
# MORE: gateway a follows the kernel's routes, with these settings as well.
follow()
{
	sed -i "/^kernel_routes/d" "$lab_dir/a.conf"
	echo "kernel_routes = { table = \"main\"; $1 };" >>"$lab_dir/a.conf"
}
# FILTER FIELD: values of the routes that culvertctl shows.
# shellcheck disable=SC2086 # several words
shown() { ctl a --json show routes $1 | jq -r "[.[] | .$2 // \"-\"] | join(\" \")"; }
is_shown() { [[ $(shown "$1" "$2") == "$3" ]]; }
# FILTER FIELD VALUE
shows() { poll is_shown "$@" || fail "routes with $1: $2 is $(shown "$1" "$2"), wanted $3: $(ctl a show routes)"; }
# ADDRESS REASON: packets of host A to it are dropped for that.
is_dropped()
{
	local before
	before=$(lab_dropped a "$2")
	on ha ping -q -n -c 1 -W 0.2 "$1" >/dev/null && fail "$1 is reached, wanted $2"
	poll drops_reach a "$2" $((before + 1)) || fail "to $1: no $2: $(ctl a show drops)"
}
in_numbers() { [[ $(ctl a --json show kernel | jq -r ".[0].$1") == "$2" ]]; }
# FIELD NUMBER
counts() { poll in_numbers "$@" || fail "$1 is not $2: $(ctl a show kernel)"; }
# The laboratory, and the configurations.
routes_up()
{
	local g
	lab_up
	lab_config a b
	host_config a b
	for g in a b; do
		sed -i "s|{ name = \"rest\"; action = \"discard\"; }|{ name = \"rest\"; action = \"bypass\"; }|" "$lab_dir/$g.conf"
	done
	sed -i 's|{ to = "10.1.0.0/24"; via = "192.0.2.1"; }|&, { to = "172.16.0.0/12"; via = "10.2.0.2"; }|' "$lab_dir/b.conf"
	on hb ip route add local 172.16.0.0/12 dev lo
}
