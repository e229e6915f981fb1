# shellcheck shell=bash disable=SC2154,SC2034,SC2004 # variables of app/lab.sh and for it; its arrays are associative
# SPDX-License-Identifier: BSD-3-Clause
# For tests of a fleet: the members a, c and d, each with FRR and an etcd of a cluster of three. A router learns from them
# which of them has which group, by BGP with BFD. Sourced after lib.sh, frr.sh and fleet.sh.
#
#     ha ---- r ----+---- a ----+---- r ---- gb ---- hb     a: 10.1.0.11, 192.0.2.11, for etcd 10.8.0.11
#                   +---- c ----+                           c: .12, d: .13; r: .254; gb: 198.51.100.2
#                   +---- d ----+                           group N: 203.0.113.N, whose tunnel leads to 10.2.N.0/24

fleet_groups=6
fleet_lease=${FLEET_LEASE-3}
fleet_rebalance=6 # later than the checks of a case: if a member is late, another one has two groups more until then
declare -A fleet_number=([a]=1 [c]=2 [d]=3)
declare -A living=() # members that run and are not frozen

for g in a c d; do
	lab_memory[$g]="size = 128; hugepages = false;"
	lab_lan[$g]="net_af_packet0,iface=lan0" lab_wan[$g]="net_af_packet1,iface=wan0"
	lab_workers[$g]=$((fleet_number[$g] % 2))
done

fleet_links()
{
	local g net
	lab_namespace ha ga gc gd gb hb r sw
	on r sysctl -qw net.ipv4.ip_forward=1
	ip -n "$lab_id-sw" link add etcd0 type bridge mcast_snooping 0
	ip -n "$lab_id-sw" link set etcd0 up
	for net in lan wan; do
		ip -n "$lab_id-r" link add $net type bridge mcast_snooping 0
		ip -n "$lab_id-r" link set $net up
	done
	for g in a c d; do
		for net in lan wan; do
			lab_link g$g ${net}0 r $net-$g
			ip -n "$lab_id-r" link set $net-$g master $net
		done
		lab_link g$g mg0 sw mg-$g
		ip -n "$lab_id-sw" link set mg-$g master etcd0
		ip -n "$lab_id-g$g" address add "10.8.0.1${fleet_number[$g]}/24" dev mg0
	done
	lab_link gb wan0 r wan-b
	lab_link hb eth0 gb lan0
	lab_link ha eth0 r lan-ha
	ip -n "$lab_id-r" address add 10.1.0.254/24 dev lan
	ip -n "$lab_id-r" address add 192.0.2.254/24 dev wan
	ip -n "$lab_id-r" address add 198.51.100.254/24 dev wan-b
	ip -n "$lab_id-r" address add 10.3.0.1/24 dev lan-ha
	lab_host ha 10.3.0.2/24 10.3.0.1
	lab_host hb 10.2.0.2/16 10.2.0.1
	for ((g = 1; g <= fleet_groups; g++)); do
		ip -n "$lab_id-hb" address add 10.2.$g.2/16 dev eth0
	done
}

# GATEWAY: of all tunnels, whose keys are of the senders gN, the members, and bN.
fleet_tunnels()
{
	local n here there out in sas="" policies=""
	for ((n = 1; n <= fleet_groups; n++)); do
		here=203.0.113.$n there=198.51.100.2 out=g$n in=b$n
		[[ $1 != b ]] || { here=198.51.100.2 there=203.0.113.$n out=b$n in=g$n; }
		sas+="$(lab_config_sa out-$n out $out $here $there), $(lab_config_sa in-$n in $in $here $there), "
		here=10.3.0.0/24 there=10.2.$n.0/24
		[[ $1 != b ]] || { here=10.2.$n.0/24 there=10.3.0.0/24; }
		policies+="{ name = \"site-$n\"; local = \"$here\"; remote = \"$there\"; action = \"protect\"; out = \"out-$n\"; in = \"in-$n\"; }, "
	done
	echo "sas = ( ${sas%, } );"
	echo "policies = ( $policies { name = \"own\"; local = \"192.0.2.0/24\"; remote = \"192.0.2.0/24\"; action = \"bypass\"; },
		{ name = \"rest\"; action = \"discard\"; } );"
}

# GATEWAY
fleet_daemon()
{
	cat <<-END
		instance = "$lab_id-$1"; state_dir = "$lab_dir/state"; $lab_sandbox
		cpus = { control = 0; workers = [ ${lab_workers[$1]} ]; }; idle = "sleep";
		memory = { ${lab_memory[$1]} }; flows = { max = 10000; };
	END
}

# MEMBER
fleet_member_text()
{
	local n own=1${fleet_number[$1]} shared="" groups="" g endpoints
	for ((n = 1; n <= fleet_groups; n++)); do
		shared+=", \"203.0.113.$n/32\""
		groups+="{ name = \"g$n\"; addresses = [ \"203.0.113.$n\" ]; }, "
	done
	endpoints="\"https://10.8.0.$own:2379\"" # its own one first
	for g in a c d; do
		[[ $g == "$1" ]] || endpoints+=", \"https://10.8.0.1${fleet_number[$g]}:2379\""
	done
	fleet_daemon "$1"
	cat <<-END
		ports = (
			{ name = "lan"; device = "${lab_lan[$1]}"; host = "hlan"; addresses = [ "10.1.0.$own/24" ]; },
			{ name = "wan"; device = "${lab_wan[$1]}"; host = "hwan"; addresses = [ "192.0.2.$own/24"$shared ]; } );
		groups = ( ${groups%, } );
		announce = { metric = 100; };
		fleet = { member = ${fleet_number[$1]}; lease = $fleet_lease; rebalance = $fleet_rebalance; endpoints = [ $endpoints ];
			ca = "ca.crt"; certificate = "gateway.crt"; private_key = "gateway.key"; };
		routes = (
			{ to = "10.3.0.0/24"; via = "10.1.0.254"; }, { to = "198.51.100.0/24"; via = "192.0.2.254"; },
			{ to = "10.2.0.0/16"; via = "192.0.2.254"; } );
		$(fleet_tunnels "$1")
		rules = (
			{ name = "bgp"; host = true; action = "accept"; proto = "tcp"; destination_port = "179"; },
			{ name = "bfd"; host = true; action = "accept"; proto = "udp"; destination_port = "3784"; } );
	END
}

fleet_peer_text()
{
	fleet_daemon b
	cat <<-END
		ports = (
			{ name = "lan"; device = "${lab_lan[b]}"; addresses = [ "10.2.0.1/16" ]; },
			{ name = "wan"; device = "${lab_wan[b]}"; addresses = [ "198.51.100.2/24" ]; } );
		routes = ( { to = "203.0.113.0/24"; via = "198.51.100.254"; }, { to = "10.3.0.0/24"; via = "198.51.100.254"; } );
		$(fleet_tunnels b)
	END
}

fleet_config()
{
	local n g
	lab_choose aes-128-gcm none
	lab_sa_extra="esn = true;"
	for ((n = 1; n <= fleet_groups; n++)); do
		lab_cipher_key[g$n]=$(lab_random_hex 20) lab_cipher_key[b$n]=$(lab_random_hex 20)
		lab_auth_key[g$n]='' lab_auth_key[b$n]=''
		lab_ike_spi[g$n]=0x0000110$n lab_ike_spi[b$n]=0x0000120$n
	done
	(
		umask 077
		for g in a c d; do
			fleet_member_text $g >"$lab_dir/$g.conf"
		done
		fleet_peer_text >"$lab_dir/b.conf"
	)
}

# --- etcd ---

# In memory: the disk of a busy machine is slower than one that etcd has for itself.
fleet_etcd_folder=$(mktemp -d /dev/shm/culvert-etcd.XXXXXX)
fleet_etcd_remove() { rm -rf "$fleet_etcd_folder"; }
lab_undo+=(fleet_etcd_remove)

# MEMBER...: before workers, which others of its machine would slow down.
fleet_etcds_start()
{
	local g address cluster=""
	for g in a c d; do
		cluster+="$g=http://10.8.0.1${fleet_number[$g]}:2380,"
	done
	for g; do
		address=10.8.0.1${fleet_number[$g]}
		spawn "g$g" nice -n -10 etcd --name "$g" --data-dir "$fleet_etcd_folder/$g" \
			--listen-client-urls "https://$address:2379" --advertise-client-urls "https://$address:2379" \
			--listen-peer-urls "http://$address:2380" --initial-advertise-peer-urls "http://$address:2380" \
			--initial-cluster "${cluster%,}" --client-cert-auth --trusted-ca-file "$lab_dir/ca.crt" \
			--cert-file "$lab_dir/etcd.crt" --key-file "$lab_dir/etcd.key" >>"$lab_dir/etcd-$g.log" 2>&1
		lab_pid[etcd-$g]=$!
	done
	for g; do
		poll etcd_healthy "$g" || fail "etcd of $g does not start: $(tail -n 3 "$lab_dir/etcd-$g.log")"
	done
}

# MEMBER
etcd_healthy()
{
	ETCDCTL_API=3 on "g$1" etcdctl --endpoints "https://10.8.0.1${fleet_number[$1]}:2379" --cacert "$lab_dir/ca.crt" \
		--cert "$lab_dir/gateway.crt" --key "$lab_dir/gateway.key" endpoint health >/dev/null 2>&1
}

fleet_etcds_kill()
{
	local g
	for g; do
		lab_kill "etcd-$g"
	done
}

# --- FRR ---

frr_bfd='bfd
 profile fast
  transmit-interval '${FLEET_BFD-300}'
  receive-interval '${FLEET_BFD-300}

# PEER AS
frr_neighbor() { printf ' neighbor %s %s\n' "$1" "remote-as $2" "$1" "bfd profile fast" "$1" "advertisement-interval 0" "$1" "timers connect 1"; }

# NUMBER AS: the begin of its BGP.
frr_begin() { printf 'router bgp %s\n bgp router-id %s\n no bgp ebgp-requires-policy\n bgp graceful-restart-disable\n timers bgp 1 30\n' "$2" "$1"; }

# NAMESPACE DAEMON: as frr_start, before workers, which others of its machine would slow down.
frr_first()
{
	frr_start "$@"
	renice -n -10 -p "$(<"$lab_dir/frr-$1/$2.pid")" >/dev/null
}

# MEMBER...: as in docs/pair.md.
frr_members()
{
	local g own
	for g; do
		own=1${fleet_number[$g]}
		frr_first "g$g" zebra <<<"hostname $g"
		frr_first "g$g" bfdd <<<"$frr_bfd"
		frr_first "g$g" bgpd <<-END
			route-map groups permit 10
			 match metric 100
			!
			ip prefix-list outer permit 203.0.113.0/24 le 32
			route-map wan permit 10
			 match ip address prefix-list outer
			!
			route-map lan deny 10
			 match ip address prefix-list outer
			route-map lan permit 20
			!
			$(frr_begin "192.0.2.$own" 65001)
			$(frr_neighbor 10.1.0.254 65000)
			$(frr_neighbor 192.0.2.254 65000)
			 address-family ipv4 unicast
			  redistribute kernel route-map groups
			  neighbor 10.1.0.254 route-map lan out
			  neighbor 192.0.2.254 route-map wan out
		END
	done
}

frr_router()
{
	local n
	frr_first r zebra <<<"hostname r"
	frr_first r bfdd <<<"$frr_bfd"
	frr_first r bgpd <<-END
		$(frr_begin 10.3.0.1 65000)
		$(for n in 11 12 13; do
			frr_neighbor 10.1.0.$n 65001
			frr_neighbor 192.0.2.$n 65001
		done)
	END
}

# MEMBER: how many of both BFD sessions the router has with it.
bfd_of() { frr_show r "bfd peers json" | jq "[.[] | select(.status == \"up\" and (.peer | endswith(\".1${fleet_number[$1]}\")))] | length"; }
has_bfd() { [[ $(bfd_of "$1") == 2 ]]; }
# MEMBER...
bfd_comes()
{
	local g
	for g; do
		poll has_bfd "$g" || fail "$g has no BFD: $(frr_show r "bfd peers")"
	done
}

# GROUP: the last parts of the members' addresses to which the router sends packets for the tunnel, and those of it.
router_has()
{
	on r ip -4 route show "10.2.$1.0/24" proto bgp | sed -n 's/.*via 10\.1\.0\.\([0-9]*\) .*/\1/p'
	on r ip -4 route show "203.0.113.$1" proto bgp | sed -n 's/.*via 192\.0\.2\.\([0-9]*\) .*/\1/p'
}

# --- owners ---

# Lines "GROUP MEMBER ROLE CHANGES OWNER" of all living members.
fleet_lists()
{
	local g
	for g in "${!living[@]}"; do
		ctl "$g" --json show groups | jq -r --arg g "$g" --arg id "$lab_id-" \
			'.[] | "\(.name) \($g) \(.role) \(.changes) \(.owner // "-" | ltrimstr($id))"'
	done | sort
}

# Lines "GROUP OWNER CHANGES" of groups that one living member alone has, by the lists of all; CHANGES of its role.
fleet_owners()
{
	fleet_lists | awk '{ seen[$1]; said[$1 " " $5]++; if ($3 == "active") { n[$1]++; owner[$1] = $2; changes[$1] = $4 } }
		END { for (g in seen) if (n[g] == 1 && said[g " " owner[g]] == '"${#living[@]}"') print g, owner[g], changes[g] }' | sort
}

# Sets owners.
fleet_is_whole()
{
	owners=$(fleet_owners)
	[[ $(grep -c . <<<"$owners") == "$fleet_groups" ]]
}

# MEMBER: how many groups it has, by $owners.
share_of() { grep -c " $1 " <<<"$owners" || true; }

# Each living member has its share.
fleet_is_even()
{
	local g
	fleet_is_whole || return 1
	for g in "${!living[@]}"; do
		[[ $(share_of "$g") == $((fleet_groups / ${#living[@]})) ]] || return 1
	done
}

# Gateway c is active for nothing, and the others have each group once.
c_is_empty() { fleet_is_whole && [[ $(share_of c) == 0 ]]; }

# The router sends packets of each group to its owner alone.
router_follows()
{
	local group owner _
	while read -r group owner _; do
		[[ $(router_has "${group#g}" | sort -u) == 1${fleet_number[$owner]} ]] || return 1
	done <<<"$owners"
}

fleet_state()
{
	local g
	for g in "${!living[@]}"; do
		echo "$g: $(ctl "$g" --wide show groups) $(ctl "$g" show fleet)"
	done
	on r ip route show proto bgp
	tail -n 20 "$lab_dir"/[acd].log
}

# SINCE: seconds.
seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# --- pings through each tunnel, twenty a second ---

pings_start()
{
	local n
	for ((n = 1; n <= fleet_groups; n++)); do
		spawn ha stdbuf -oL ping -n -D -i 0.05 10.2.$n.2 >"$lab_dir/pinged-$n"
		lab_pid[ping-$n]=$!
	done
}

pings_stop()
{
	local n
	for ((n = 1; n <= fleet_groups; n++)); do
		kill -INT "${lab_pid[ping-$n]}"
		wait "${lab_pid[ping-$n]}" || true
		unset "lab_pid[ping-$n]"
	done
}

# Lines "TUNNEL REPLIES LOST PAUSE" since $began: requests without an answer before the last one that has one, and the
# longest time between two answers in seconds.
pings_since()
{
	local n
	for ((n = 1; n <= fleet_groups; n++)); do
		awk -F '[][ =]' -v n=$n -v since="$began" '/bytes from/ && /time=/ {
				match($0, /icmp_seq=[0-9]+/); seq = substr($0, RSTART + 9, RLENGTH - 9) + 0
				if ($2 >= since) { replies++; gap = $2 - (at > since ? at : since); if (gap > pause) pause = gap }
				else before = seq
				if (seq > last) last = seq
				at = $2
			}
			END { printf "%d %d %d %.2f\n", n, replies, last - before - replies, pause }' "$lab_dir/pinged-$n"
	done
}

# NUMBER: each tunnel has had that many answers since $asked.
all_answer()
{
	local began=$asked
	[[ $(pings_since | awk -v n="$1" '$2 >= n' | wc -l) == "$fleet_groups" ]]
}

# WHAT: pings through each tunnel are answered from now on.
all_carry()
{
	asked=$EPOCHREALTIME
	poll all_answer 10 || fail "$1: not all tunnels carry packets: $(began=$asked pings_since) $(fleet_state)"
}

# --- cases ---

# WHAT [CONDITION]: each group has one owner, or the condition is true.
case_begin()
{
	what=$1
	echo "== $what"
	poll "${2-fleet_is_whole}" || fail "before: $(fleet_state)"
	before=$owners
	began=$EPOCHREALTIME
}

# [CONDITION]: until each group has one owner, or the condition, the router knows it, and it carries packets. Prints the
# times, and sets moved, the groups that have another owner, and pause, the longest one of a tunnel in seconds.
case_settles()
{
	local seconds settled=${1-fleet_is_whole}
	poll "$settled" || fail "$what: $(fleet_state)"
	seconds=$(seconds_since "$began")
	poll router_follows || fail "$what: the router does not follow: $(fleet_state)"
	all_carry "$what"
	"$settled" || fail "$what: owners change again: $(fleet_state)"
	moved=$(join <(echo "$before") <(echo "$owners") | awk '$2 != $4 { print $1 }' | xargs)
	pause=$(pings_since | awk '$4 > most { most = $4 } END { print most + 0 }')
	echo "$what: one owner of each group after $seconds s, longest pause of a tunnel $pause s, $(pings_since | awk '{ n += $3 } END { print n + 0 }') pings lost, moved: ${moved:-none}"
}

# MEMBER...: groups of others have kept their owner, and no role of theirs has changed.
others_stayed()
{
	local group owner changes member line
	while read -r group owner changes; do
		for member; do
			[[ $owner != "$member" ]] || continue 2
		done
		line=$(grep "^$group " <<<"$owners")
		equal "$what: $group" "$line" "$group $owner $changes"
	done <<<"$before"
}

# By the lines of pings_since.
lost_pings() { pings_since | awk '$3 > 0'; }

lost_none()
{
	local lost g
	lost=$(lost_pings)
	[[ -z $lost ]] || fail "$what: lost pings: $lost $(for g in a c d b; do echo "$g: $(ctl $g show drops)"; done) $(fleet_state)"
}

# --- members ---

# MEMBER: serves only as soon as the router has its sessions, which would send nothing to it before.
member_start()
{
	lab_start "$1"
	living[$1]=yes
	ctl "$1" drain
	[[ -e $lab_dir/frr-g$1 ]] || frr_members "$1"
	bfd_comes "$1"
	ctl "$1" drain off
}

member_kill()
{
	lab_kill "$1"
	unset "living[$1]"
}

# MEMBER...: all machines are there, and these members serve.
fleet_begin()
{
	local g
	fleet_links
	fleet_certificates 10.8.0.11 10.8.0.12 10.8.0.13
	fleet_config
	fleet_etcds_start a c d
	frr_router
	lab_start "$@" b
	for g; do
		living[$g]=yes
	done
	frr_members "$@"
	bfd_comes "$@"
	# On a busy machine a move may fail, and nothing moves to that member for a minute then.
	lab_patience=300 poll fleet_is_even || fail "start: $(fleet_state)"
	spawn r tcpdump -i wan-b -n --immediate-mode -U -B 32768 -w "$lab_dir/esp.pcap" esp 2>"$lab_dir/tcpdump"
	lab_pid[tcpdump]=$!
	poll grep -q 'listening on' "$lab_dir/tcpdump" || fail "tcpdump does not start: $(<"$lab_dir/tcpdump")"
	pings_start
	all_carry "start"
}

fleet_end()
{
	local g
	pings_stop
	kill -TERM "${lab_pid[tcpdump]}"
	wait "${lab_pid[tcpdump]}" || true
	unset "lab_pid[tcpdump]"
	/usr/bin/python3 "$lab_root/tests/e2e/esp_numbers.py" "$lab_dir/esp.pcap"
	finish a c d b
	for g in a c d; do
		kill -TERM "${lab_pid[etcd-$g]}"
		wait "${lab_pid[etcd-$g]}" || true
		unset "lab_pid[etcd-$g]"
	done
}
