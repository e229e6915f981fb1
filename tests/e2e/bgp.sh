# shellcheck shell=bash disable=SC2154,SC2034,SC2004 # variables of app/lab.sh and for it; its arrays are associative
# SPDX-License-Identifier: BSD-3-Clause
# Shared by tests with routing daemons that speak BGP over two tunnels between gateways a and b. Each tunnel has a WAN of
# its own; t1 and t2 are its interfaces in the kernels of both gateways.

lab_ipv6=yes
lab_memory=([a]="size = 192; hugepages = false;" [b]="size = 192; hugepages = false;")
# Through queues of the kernel, which lose packets on request.
lab_wan=([a]="net_af_packet1,iface=wan0,framecnt=4096,qdisc_bypass=0" [b]="net_af_packet1,iface=wan0,qdisc_bypass=0")
bgp_protocol=bgp # of its routes in the kernel

# GATEWAY NUMBER WAN-PREFIX: the SAs of that tunnel.
bgp_sas()
{
	local peer=${lab_peer[$1]}
	lab_config_sa "to-$2" out "$1$2" "$3.${lab_number[$1]}" "$3.${lab_number[$peer]}"
	echo ,
	lab_config_sa "from-$2" in "$peer$2" "$3.${lab_number[$1]}" "$3.${lab_number[$peer]}"
}

# GATEWAY NUMBER: that tunnel. FRR shares no flows between equal link-local next hops, which are from these addresses.
bgp_tunnel()
{
	echo "{ name = \"tunnel-$2\"; out = \"to-$2\"; in = \"from-$2\"; host = \"t$2\"; source_check = \"loose\";
		addresses = [ \"10.255.$2.${lab_number[$1]}/30\", \"fd00:$2::$2${lab_number[$1]}/64\" ]; }"
}

# GATEWAY: without policies that protect and routes in the file. A packet that no route leads into a tunnel may go in clear.
bgp_config_text()
{
	cat <<-END
		sas = ( $(bgp_sas "$1" 1 192.0.2), $(bgp_sas "$1" 2 198.51.100) );
		tunnels = ( $(bgp_tunnel "$1" 1), $(bgp_tunnel "$1" 2) );
		policies = ( { name = "all"; action = "bypass"; } );
		rules = (
			{ name = "bgp"; host = true; action = "accept"; proto = "tcp"; destination_port = "179"; },
			{ name = "bfd"; host = true; action = "accept"; proto = "udp"; destination_port = "3784"; } );
		kernel_routes = { table = "main"; protocols = [ "$bgp_protocol", "static" ]; };
	END
}

bgp_config()
{
	local g n
	for g in a b; do
		for n in 1 2; do
			lab_cipher_key[$g$n]=$(lab_random_hex 20)
			lab_auth_key[$g$n]=
			lab_ike_spi[$g$n]=0x0000${n}00${lab_number[$g]}
		done
	done
	for g in a b; do
		n=${lab_number[$g]}
		lab_config "$g"
		sed -i '/^routes = (/,/^);/d; /^sas = (/,/^);/d; /^policies = (/,/^);/d; s/flows = { max = 10000; }/flows = { max = 40000; }/' "$lab_dir/$g.conf"
		sed -i "s|\"2001:db8:f::$n/64\" \]; mtu = 1500; }|&, { name = \"back\"; device = \"net_af_packet2,iface=back0,qdisc_bypass=0\"; addresses = [ \"198.51.100.$n/24\" ]; }|" "$lab_dir/$g.conf"
		bgp_config_text $g >>"$lab_dir/$g.conf"
	done
	# More networks of host B.
	echo 'routes = ( { to = "172.16.0.0/12"; via = "10.2.0.2"; } );' >>"$lab_dir/b.conf"
	on hb ip route add local 172.16.0.0/12 dev lo
}

bgp_up()
{
	lab_up
	lab_link ga back0 gb back0
	bgp_config
}

# GATEWAY PREFIX: tunnels of the gateway's route, "" without one.
bgp_tunnels_of() { ctl "$1" --json show routes to "$2" owner kernel | jq -r '[.[] | select(.to == "'"$2"'" and .unused == null).port] | join(" ")'; }
bgp_goes_by() { [[ $(bgp_tunnels_of "$1" "$2") == "$3" ]]; }
# GATEWAY PREFIX TUNNELS
bgp_goes() { poll bgp_goes_by "$@" || fail "$1: to $2 not by '$3': $(ctl "$1" show routes) $(on "g$1" ip route) $(tail -n 20 "$lab_dir/frr-g$1"/*.log)"; }
# GATEWAY NUMBER: it follows at least that many routes.
bgp_follows() { [[ $(ctl "$1" --json show kernel | jq '.[0].routes') -ge $2 ]]; }

# INTERFACE add|delete: that WAN loses every packet, but keeps its link.
bgp_lose()
{
	local g
	for g in ga gb; do
		# shellcheck disable=SC2046 # several words
		on $g tc qdisc "$2" dev "$1" root $([[ $2 == delete ]] || echo tbf rate 8bit burst 1 latency 1ms)
	done
}

# WHAT ADDRESS...: host A pings these, each 100 times a second, while the first WAN begins to lose all packets, until the
# pings are answered by the second one. Of each less than a second is lost.
bgp_silent()
{
	local before lost to
	before=$(replies ha)
	for to in "${@:2}"; do
		spawn ha ping -q -n -i 0.01 -c 60000 "$to" >"$lab_dir/pinged-$to"
		lab_pid[ping-$to]=$!
	done
	poll replies_reach ha $((before + 100)) || fail "no traffic"
	bgp_lose wan0 add
	for to in "${@:2}"; do
		poll bgp_answered "$to" || fail "$1: $to does not answer by the second tunnel: $(ctl a show routes to "$to") $(cat "$lab_dir/bfd")"
	done
	for to in "${@:2}"; do
		kill -INT "${lab_pid[ping-$to]}"
		wait "${lab_pid[ping-$to]}" || true
		unset "lab_pid[ping-$to]"
		lost=$(awk '/packets transmitted/ { print $1 - $4 }' "$lab_dir/pinged-$to")
		echo "$1: $lost of the pings of $to, one in 10 ms, are lost"
		[[ $lost -lt 100 ]] || fail "$1: too long: $(<"$lab_dir/pinged-$to")"
	done
}
# ADDRESS: of host B.
bgp_answered() { on ha ping -q -n -c 1 -W 0.5 "$1" >/dev/null; }

# GATEWAY: when BFD of FRR reports that a peer is gone, its tunnel goes down, until FRR has replaced the routes.
bgp_tunnels_follow_bfd()
{
	local i
	while read -r i; do
		echo "$1: BFD: $i" >>"$lab_dir/bfd"
		ctl "$1" tunnel down "tunnel-${i#t}" 2>>"$lab_dir/bfd" || continue
		(sleep 10 && ctl "$1" tunnel up "tunnel-${i#t}") &
	done < <(tail --pid=$$ -n 0 -F "$lab_dir/frr-g$1/bfdd.log" 2>/dev/null |
		sed -un 's/.*state-change: .* ifname:\(t[12]\)\] up -> down.*/\1/p')
}

# Captures packets of IPv4 and IPv6 on both WANs but ESP.
bgp_clear_begin()
{
	local i
	for i in wan0 back0; do
		spawn gb tcpdump -i $i -n --immediate-mode -U -w "$lab_dir/clear-$i.pcap" "not esp and (ip or ip6)" 2>"$lab_dir/clear-$i.log"
		lab_pid[clear-$i]=$!
		poll grep -q 'listening on' "$lab_dir/clear-$i.log" || fail "tcpdump does not start"
	done
}
bgp_clear_end()
{
	local i
	for i in wan0 back0; do
		kill "${lab_pid[clear-$i]}"
		wait "${lab_pid[clear-$i]}" || true
		unset "lab_pid[clear-$i]"
		equal "packets in clear on $i" "$(lab_captured clear-$i 'net 10.0.0.0/8 or net 172.16.0.0/12 or net 2001:db8:1::/48 or net 2001:db8:2::/48')" 0
	done
}
