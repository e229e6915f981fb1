# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# A NAT of the kernel's between the gateways, for the tests that source this.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

public=198.51.100 # addresses of the outside

# The gateways' wire goes through another namespace:  A 192.0.2.1 - nat - 198.51.100.2 B
nat_up()
{
	lab_up
	ip -n "$lab_id-ga" link del wan0
	lab_namespace nat
	on nat sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.promote_secondaries=1
	lab_link ga wan0 nat inside
	lab_link gb wan0 nat outside
	ip -n "$lab_id-nat" address add 192.0.2.254/24 dev inside
	ip -n "$lab_id-nat" address add $public.1/24 dev outside
	masquerade 1024-1999
}

# PORTS: the ports that the NAT uses for hosts behind the NAT.
masquerade()
{
	on nat nft -f - <<-END
		table ip nat
		delete table ip nat
		table ip nat {
			chain out {
				type nat hook postrouting priority 100;
				oifname "outside" meta l4proto udp masquerade to :$1
			}
		}
	END
}

# From address to address: the NAT's mappings of the old one are gone.
readdress()
{
	[[ $1 == "$2" ]] || ip -n "$lab_id-nat" address add "$public.$2/24" dev outside
	ip -n "$lab_id-nat" address del "$public.$1/24" dev outside
	[[ $1 != "$2" ]] || ip -n "$lab_id-nat" address add "$public.$2/24" dev outside
}

# GATEWAY SA: where it thinks that the peer of the SA is.
remote()
{
	ctl "$1" --json show sas | jq -r ".[] | select(.name == \"$2\") | \"\(.remote // \"any\"):\(.remote_port)\""
}

# GATEWAY SA PATTERN
remote_is()
{
	[[ $(remote "$1" "$2") =~ ^$3$ ]]
}
