# SPDX-License-Identifier: BSD-3-Clause
# For tests of two gateways, a and c, that share their addresses as a group. Sourced after lib.sh.
#
#     ha ----+---- a ----+---- gb ---- hb         a: 10.1.0.11, 192.0.2.11    both, of the group:
#            +---- c ----+                        c: 10.1.0.12, 192.0.2.12    10.1.0.1, 192.0.2.1, and those of IPv6

lab_ipv6=yes
lab_number[c]=1 lab_peer[c]=b lab_workers[c]=1 lab_memory[c]=${lab_memory[a]}
lab_lan[c]=${lab_lan[b]} lab_wan[c]=${lab_wan[b]}
lab_extra[a]='groups = ( { name = "main"; addresses = [ "10.1.0.1", "192.0.2.1", "2001:db8:1::1", "2001:db8:f::1" ]; } );'
lab_extra[c]=${lab_extra[a]/addresses/role = \"standby\"; addresses}

# Two switches, lan and wan, in a namespace of their own.
group_up()
{
	local ns
	lab_namespace ha ga gc gb hb sw
	for ns in lan wan; do
		ip -n "$lab_id-sw" link add $ns type bridge mcast_snooping 0
		ip -n "$lab_id-sw" link set $ns up
	done
	lab_link ha eth0 sw lan-ha
	for ns in a c; do
		lab_link g$ns lan0 sw lan-$ns
		lab_link g$ns wan0 sw wan-$ns
		ip -n "$lab_id-sw" link set lan-$ns master lan
		ip -n "$lab_id-sw" link set wan-$ns master wan
	done
	lab_link gb wan0 sw wan-b
	lab_link hb eth0 gb lan0
	lab_link ga ha0 gc ha0
	ip -n "$lab_id-sw" link set lan-ha master lan
	ip -n "$lab_id-sw" link set wan-b master wan
	lab_host ha 10.1.0.2/24 10.1.0.1
	lab_host hb 10.2.0.2/24 10.2.0.1
	lab_host_ipv6 ha 1
	lab_host_ipv6 hb 2
	lab_choose aes-128-gcm none
}

# GATEWAY...: their own addresses, beside those of the group.
group_addresses()
{
	local g
	for g in "$@"; do
		local own=11
		[[ $g == a ]] || own=12
		sed -i -e "s|\"10.1.0.1/24\"|\"10.1.0.$own/24\", &|" -e "s|\"192.0.2.1/24\"|\"192.0.2.$own/24\", &|" \
			"$lab_dir/$g.conf"
	done
}

# The two have a channel on their link: keys, and settings for lab_config.
group_channel()
{
	local pair="pair = { certificate = \"own.crt\"; private_key = \"own.key\"; peer_certificate = \"other.crt\"; deadline = 30000;"
	ip -n "$lab_id-ga" address add 10.9.0.11/24 dev ha0
	ip -n "$lab_id-gc" address add 10.9.0.12/24 dev ha0
	(cd "$lab_dir" && "$culvertctl" keygen pair a && "$culvertctl" keygen pair c)
	lab_extra[a]+="${pair//own/a} member = 1; address = \"10.9.0.11\"; peer = \"10.9.0.12\"; };"
	lab_extra[c]+="${pair//own/c} member = 2; address = \"10.9.0.12\"; peer = \"10.9.0.11\"; };"
	lab_extra[a]=${lab_extra[a]//other.crt/c.crt} lab_extra[c]=${lab_extra[c]//other.crt/a.crt}
}

in_sync() { [[ $(ctl "$1" --json show members | jq -r 'map(.state) | unique | join(" ")') == "in sync" ]]; }
both_in_sync() { in_sync a && in_sync c; }

# GATEWAY PRIORITY: on the link between the two, as in the example. keepalived enters the namespace by itself: the kernel
# tells it which processes end only in the first one.
declare -A vrrp
keepalived_start()
{
	sed -e "s|priority .*|priority $2|" \
		-e "s|advert_int 0.1|advert_int $((${advertise-10} / 10)).$((${advertise-10} % 10))|" \
		-e "s|/usr/share/doc/culvert/examples/culvert-notify|$lab_dir/notify-$1|" \
		-e "s|/run/culvert-notify|$lab_dir/vrrp-$1|" \
		-e "s|/usr/sbin/culvertd -c .*|$lab_build/app/culvertd/culvertd -c $lab_dir/$1.conf|" \
		-e "1i net_namespace $lab_id-g$1" \
		"$lab_root/conf/keepalived/keepalived.conf" >"$lab_dir/vrrp-$1"
	cat >"$lab_dir/notify-$1" <<-END
		#!/bin/bash
		export PATH=$lab_build/app/culvertctl:$PATH CULVERT_INSTANCE=$lab_id-$1
		exec $lab_root/conf/keepalived/culvert-notify "\$@"
	END
	chmod 700 "$lab_dir/notify-$1"
	keepalived -n -l -D -f "$lab_dir/vrrp-$1" -p "$lab_dir/vrrp-$1.pid" -r "$lab_dir/vrrp-$1.vrrp" \
		>"$lab_dir/vrrp-$1.out" 2>&1 &
	vrrp[$1]=$!
	# It ignores signals until it has begun.
	poll grep -q 'Entering [A-Z]* STATE' "$lab_dir/vrrp-$1.out" || fail "keepalived of $1: $(<"$lab_dir/vrrp-$1.out")"
}

role() { ctl "$1" --json show groups | jq -r '.[] | select(.name == "main") | .role'; }
role_is() { [[ $(role "$1") == "$2" ]]; }
