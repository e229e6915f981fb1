# SPDX-License-Identifier: BSD-3-Clause
# Sourced by benchmarks that measure a gateway of the kernel: a namespace that forwards by nf_conntrack and nftables,
# between the hosts' interfaces lan and wan; nowhere drops all frames. Ends with 77 if the kernel has no such gateway.
. "$(dirname "$0")/../../app/lab.sh"

# kernel_gateway MAC-LAN MAC-WAN: the addresses of its interfaces.
kernel_gateway()
{
	lab_begin
	lab_namespace hosts gateway
	lab_link hosts lan gateway lan
	lab_link hosts wan gateway wan
	lab_link hosts nowhere gateway nowhere
	on gateway ip link set lan address "$1"
	on gateway ip link set wan address "$2"
	on gateway ip address add 10.0.0.1/24 dev lan
	on gateway ip address add 198.18.0.1/16 dev wan
	on gateway ip route add default via 198.18.0.2
	on gateway ip route add 10.1.0.0/16 via 10.0.0.2
	on gateway ip neighbour add 10.0.0.2 lladdr 02:00:00:00:02:00 dev lan
	on gateway ip neighbour add 198.18.0.2 lladdr 02:00:00:00:02:01 dev wan
	on gateway sysctl -qw net.ipv4.ip_forward=1
	on gateway nft -f - 2>/dev/null <<-'END' || { echo "the kernel has no nftables" >&2; exit 77; }
		table inet filter {
			chain forward {
				type filter hook forward priority 0; policy drop;
				ct state established,related accept
				ct state invalid drop
				meta l4proto { tcp, udp } th dport { 80, 4501 } accept
			}
		}
	END
}

# Runs a program beside it, on the last CPU.
beside()
{
	on hosts taskset -c "$(($(nproc) - 1))" "$1" --hosts lan,wan,nowhere "${@:2}"
}
