# shellcheck shell=bash disable=SC2154,SC2034 # variables of app/lab.sh and for it
# SPDX-License-Identifier: BSD-3-Clause
# Shared by tests with BGP and BFD of FRR over two tunnels.
. "$(dirname "$0")/frr.sh"
. "$(dirname "$0")/bgp.sh"

better=yes # tunnel 1, otherwise both are equal

# GATEWAY ROUTES [ARGUMENT-OF-ZEBRA...]: that many beside the network of the site.
bgp_start()
{
	local i n=${lab_number[$1]} there=${lab_number[${lab_peer[$1]}]}
	# With objects, zebra 8.4 does not add a tunnel to a group again that was down.
	frr_start "g$1" zebra "${@:3}" <<<"$([[ -n $better ]] || echo no zebra nexthop kernel enable)"
	frr_start "g$1" bfdd <<-END
		debug bfd peer
		bfd
		 profile fast
		  transmit-interval 150
		  receive-interval 150
	END
	{
		cat <<-END
			router bgp 6500$n
			 bgp router-id 192.0.2.$n
			 no bgp ebgp-requires-policy
			 no bgp network import-check
			 bgp graceful-restart-disable
			 timers bgp 1 30
			$(for i in 1 2; do
				echo " neighbor 10.255.$i.$there remote-as 6500$there"
				echo " neighbor 10.255.$i.$there bfd profile fast"
				echo " neighbor 10.255.$i.$there advertisement-interval 0"
				echo " neighbor 10.255.$i.$there timers connect 1"
			done)
			 address-family ipv4 unicast
			  $([[ -n $better ]] && echo "neighbor 10.255.1.$there weight 200" || echo maximum-paths 2)
			  network 10.$n.0.0/24
		END
		for ((i = 0; i < $2; i++)); do
			echo "  network 172.$((16 + i / 65536)).$((i / 256 % 256)).$((i % 256))/32"
		done
		cat <<-END
			 address-family ipv6 unicast
			  neighbor 10.255.1.$there activate
			  $([[ -n $better ]] && echo "neighbor 10.255.1.$there weight 200" || echo maximum-paths 2)
			  neighbor 10.255.2.$there activate
			  network 2001:db8:$n::/64
		END
	} | frr_start "g$1" bgpd
}

# GATEWAY [SIGNAL]: zebra first, which would remove the routes of the others when they end.
bgp_stop()
{
	local pid dir=$lab_dir/frr-g$1
	local pids=("$(<"$dir/zebra.pid")" "$(<"$dir/bgpd.pid")" "$(<"$dir/bfdd.pid")")
	kill "${2--TERM}" "${pids[@]}"
	for pid in "${pids[@]}"; do
		poll lab_gone "$pid" || fail "process $pid of FRR does not end"
	done
	rm -r "$dir"
}

# GATEWAY: both sessions are, each with BFD.
has_sessions()
{
	[[ $(frr_show "g$1" "bgp summary json" | jq '[.ipv4Unicast.peers[] | select(.state == "Established")] | length') == 2 ]] &&
		[[ $(frr_show "g$1" "bfd peers json" | jq '[.[] | select(.status == "up")] | length') == 2 ]]
}
sessions_up() { poll has_sessions a && poll has_sessions b; }

# Both families of both sites by a tunnel, or by several.
all_go_by()
{
	[[ $1 == tunnel-2 ]] || sessions_up || fail "no sessions: $(frr_show ga "bfd peers") $(frr_show gb "bfd peers")"
	bgp_goes a 10.2.0.0/24 "$1"
	bgp_goes b 10.1.0.0/24 "$1"
	bgp_goes a 2001:db8:2::/64 "$1"
	bgp_goes b 2001:db8:1::/64 "$1"
}
