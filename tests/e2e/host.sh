# shellcheck shell=bash disable=SC2154,SC2004 # variables of app/lab.sh, which the tests include; its arrays are associative
# SPDX-License-Identifier: BSD-3-Clause
# Shared by tests of the host behind ports.

host_rules= # for the host, of both gateways
# Policies for packets that the host may send and receive in clear on the WAN.
host_policies='{ name = "own-4"; local = "192.0.2.0/24"; remote = "192.0.2.0/24"; action = "bypass"; },
	{ name = "own-6"; local = "2001:db8:f::/64"; remote = "2001:db8:f::/64"; action = "bypass"; },'

# GATEWAY...: their configurations, with a host behind both ports.
host_config()
{
	local g
	for g; do
		lab_extra[$g]+="rules = ( $host_rules );"
		lab_config "$g"
		sed -i -e 's|name = "lan";|& host = "hlan";|' -e 's|name = "wan";|& host = "hwan";|' \
			-e "s|{ name = \"rest\"|$(tr '\n' ' ' <<<"$host_policies")&|" "$lab_dir/$g.conf"
	done
}
