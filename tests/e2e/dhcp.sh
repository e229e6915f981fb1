# shellcheck shell=bash disable=SC2154 # variables of app/lab.sh, which the tests include
# SPDX-License-Identifier: BSD-3-Clause
# Shared by tests of addresses of the host (hwan, of port wan): a server, dnsmasq, and a client, udhcpc.

# Skips the test where it cannot run.
dhcp_need()
{
	[[ ! -x /usr/sbin/dnsmasq || ! -x /usr/sbin/udhcpc ]] || return 0
	echo "skipped: no dnsmasq or udhcpc: app/packages test"
	exit 77
}

# NAMESPACE ADDRESS [ARGUMENT...]: a server on wan0 there that gives this address alone, at once also to a client that
# has another one.
dhcp_server_start()
{
	: >"$lab_dir/leases"
	spawn "$1" dnsmasq --keep-in-foreground --conf-file=/dev/null --port=0 --interface=wan0 --bind-interfaces \
		--dhcp-authoritative --no-ping --dhcp-range="$2,$2,255.255.255.0,2m" --dhcp-leasefile="$lab_dir/leases" \
		--pid-file= --user=root --log-facility="$lab_dir/dnsmasq.log" --log-dhcp "${@:3}"
	dhcp_server=$!
}

dhcp_server_stop()
{
	kill "$dhcp_server"
	wait "$dhcp_server" || true
}

# NAMESPACE: a client there, whose lease gives hwan its address and default route.
dhcp_client_start()
{
	cat >"$lab_dir/lease" <<-'END'
		#!/bin/bash
		case $1 in
		deconfig) ip -4 address flush dev "$interface" ;;
		bound | renew)
			ip address replace "$ip/$mask" dev "$interface"
			ip route replace default via "${router%% *}" dev "$interface" proto dhcp
			;;
		esac
	END
	chmod +x "$lab_dir/lease"
	spawn "$1" udhcpc -f -i hwan -s "$lab_dir/lease" -t 20 -T 1 -A 1 >>"$lab_dir/udhcpc.log" 2>&1
	dhcp_client=$!
}

# The client asks the server for the same address once more.
dhcp_renew()
{
	kill -USR1 "$dhcp_client"
}

dhcp_client_stop()
{
	kill "$dhcp_client"
	wait "$dhcp_client" || true
}

dhcp_stop()
{
	dhcp_client_stop
	dhcp_server_stop
}

# GATEWAY PATTERN: its port wan has such an address.
dhcp_has()
{
	ctl "$1" show ports --json |
		jq -e --arg p "$2" '.[] | select(.name == "wan").addresses | any(test($p))' >/dev/null
}

# GATEWAY: its state, for messages.
dhcp_shown()
{
	ctl "$1" show ports
	on "g$1" ip address show hwan
	cat "$lab_dir"/{udhcpc,dnsmasq}.log
	ctl "$1" show drops
}
