# shellcheck shell=bash disable=SC2154 # variables of app/lab.sh, which the tests include
# SPDX-License-Identifier: BSD-3-Clause
# Shared by tests with FRR on the hosts behind ports: daemons in namespaces, without watchfrr.
[[ -x /usr/lib/frr/zebra ]] || {
	echo "skipped: no FRR: app/packages test"
	exit 77
}

# NAMESPACE DAEMON [ARGUMENT...]: starts it there with the configuration on standard input.
frr_start()
{
	local dir=$lab_dir/frr-$1
	chmod 711 "$lab_dir"
	install -d -o frr -g frr "$dir"
	cat >"$dir/$2.conf"
	spawn "$1" "/usr/lib/frr/$2" -f "$dir/$2.conf" -i "$dir/$2.pid" -z "$dir/zserv" \
		--vty_socket "$dir" -P 0 --log "file:$dir/$2.log" "${@:3}" >"$dir/$2.out" 2>&1
	poll test -e "$dir/$2.vty" || fail "$2 does not start: $(cat "$dir/$2.out" "$dir/$2.log")"
}

# NAMESPACE PROTOCOL PREFIX: the kernel there has a route that the protocol has found.
has_route() { [[ -n $(on "$1" ip -6 route show "$3" proto "$2" 2>/dev/null; on "$1" ip -4 route show "$3" proto "$2" 2>/dev/null) ]]; }
# NAMESPACE PROTOCOL PREFIX
learns() { poll has_route "$@" || fail "$1 does not learn $3 by $2: $(on "$1" ip route) $(tail -n 20 "$lab_dir/frr-$1"/*.log)"; }

# NAMESPACE COMMAND: of its daemons.
frr_show() { on "$1" vtysh --vty_socket "$lab_dir/frr-$1" -c "show $2"; }
