# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The laboratory, a bash library for app/quickstart and tests/e2e: two hosts and two gateways in
# network namespaces. The hosts are the kernel's own TCP/IP; each gateway is a culvertd.
#
#     host A            gateway A                     gateway B            host B
#   +--------+       +--------------+              +--------------+       +--------+
#   |   eth0 |-------| lan0    wan0 |==== ESP =====| wan0    lan0 |-------| eth0   |
#   +--------+       +--------------+              +--------------+       +--------+
#    10.1.0.2       10.1.0.1   192.0.2.1        192.0.2.2   10.2.0.1      10.2.0.2
#
# With lab_ipv6 hosts and gateways have IPv6 as well: 2001:db8:1::2 and 2001:db8:2::2, by ...::1, and
# 2001:db8:f::1 and ...::2 on the WAN.
#
# Namespaces are called ha, ga, gb, hb here; gateways a and b. Every name in the system starts with
# $lab_id, so that several laboratories may run at once. Callers use set -euo pipefail.

lab_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
lab_build=${CULVERT_BUILD:-$lab_root/build}
lab_id=cv$$
lab_dir=
lab_ending= # not empty: lab_exit is running
lab_keep= # not empty: lab_exit leaves everything running
lab_undo=() # functions that lab_exit calls in any case, for objects outside the namespaces

# The settings that lab_config writes; callers change them before.
declare -A lab_workers=([a]=0 [b]=1) # CPUs
declare -A lab_extra=([a]="" [b]="") # text at the end of the file
declare -A lab_lan=([a]="net_af_packet0,iface=lan0,framecnt=4096" [b]="net_af_packet0,iface=lan0") # devices
declare -A lab_wan=([a]="net_af_packet1,iface=wan0,framecnt=4096" [b]="net_af_packet1,iface=wan0")
declare -A lab_memory=([a]="size = 128; hugepages = false;" [b]="size = 128; hugepages = false;") # settings
declare -A lab_runner=() # by gateway: the command that runs its programs, if that is not on this machine
lab_lan_mtu=1500 # of the gateways' ports, as the next one
lab_wan_mtu=1500
lab_ipv6=     # not empty: both families
lab_outer=4   # family of the outer header: 4 or 6
lab_replay_window=64
lab_pinged=10.2.0.2
lab_ping_interval=0.01
lab_patience=120      # seconds that a condition may take on a busy machine
# Directions, by gateway: packets that a gateway sends itself bypass its own end of the wire.
declare -A lab_capture_at=([a]=in [b]=in)
lab_sa_extra="" # more settings of all SAs
lab_sandbox=${CULVERT_SANDBOX:+sandbox = $CULVERT_SANDBOX;} # of all configurations

# The algorithms, one per line: cipher, auth, octets of cipher key with salt, auth key, IV, block,
# ICV; then their names in Wireshark's table of SAs, none for algorithms that Wireshark 4.0 lacks.
lab_algorithms='
null        hmac-sha1-96       0 20  0  4 12|NULL|HMAC-SHA-1-96 [RFC2404]
null        hmac-sha2-256-128  0 32  0  4 16|NULL|HMAC-SHA-256-128 [RFC4868]
aes-128-cbc hmac-sha1-96      16 20 16 16 12|AES-CBC [RFC3602]|HMAC-SHA-1-96 [RFC2404]
aes-192-cbc hmac-sha1-96      24 20 16 16 12|AES-CBC [RFC3602]|HMAC-SHA-1-96 [RFC2404]
aes-256-cbc hmac-sha1-96      32 20 16 16 12|AES-CBC [RFC3602]|HMAC-SHA-1-96 [RFC2404]
aes-128-cbc hmac-sha2-256-128 16 32 16 16 16|AES-CBC [RFC3602]|HMAC-SHA-256-128 [RFC4868]
aes-192-cbc hmac-sha2-256-128 24 32 16 16 16|AES-CBC [RFC3602]|HMAC-SHA-256-128 [RFC4868]
aes-256-cbc hmac-sha2-256-128 32 32 16 16 16|AES-CBC [RFC3602]|HMAC-SHA-256-128 [RFC4868]
null        hmac-sha2-384-192  0 48  0  4 24|NULL|HMAC-SHA-384-192 [RFC4868]
aes-128-cbc hmac-sha2-384-192 16 48 16 16 24|AES-CBC [RFC3602]|HMAC-SHA-384-192 [RFC4868]
aes-256-cbc hmac-sha2-512-256 32 64 16 16 32|AES-CBC [RFC3602]|HMAC-SHA-512-256 [RFC4868]
aes-128-ctr hmac-sha1-96      20 20  8  4 12|AES-CTR [RFC3686]|HMAC-SHA-1-96 [RFC2404]
aes-192-ctr hmac-sha2-256-128 28 32  8  4 16|AES-CTR [RFC3686]|HMAC-SHA-256-128 [RFC4868]
aes-256-ctr hmac-sha2-512-256 36 64  8  4 32|AES-CTR [RFC3686]|HMAC-SHA-512-256 [RFC4868]
aes-128-gcm none              20  0  8  4 16|AES-GCM with 16 octet ICV [RFC4106]|NULL
aes-192-gcm none              28  0  8  4 16|AES-GCM with 16 octet ICV [RFC4106]|NULL
aes-256-gcm none              36  0  8  4 16|AES-GCM with 16 octet ICV [RFC4106]|NULL
aes-128-gcm-12 none           20  0  8  4 12|AES-GCM with 12 octet ICV [RFC4106]|NULL
aes-192-gcm-12 none           28  0  8  4 12|AES-GCM with 12 octet ICV [RFC4106]|NULL
aes-256-gcm-12 none           36  0  8  4 12|AES-GCM with 12 octet ICV [RFC4106]|NULL
aes-128-gcm-8 none            20  0  8  4  8|AES-GCM with 8 octet ICV [RFC4106]|NULL
aes-192-gcm-8 none            28  0  8  4  8|AES-GCM with 8 octet ICV [RFC4106]|NULL
aes-256-gcm-8 none            36  0  8  4  8|AES-GCM with 8 octet ICV [RFC4106]|NULL
aes-128-gmac none             20  0  8  4 16||
aes-192-gmac none             28  0  8  4 16||
aes-256-gmac none             36  0  8  4 16||
chacha20-poly1305 none        36  0  8  4 16||
'

declare -A lab_declared=() # by gateway: whether its keys are declared
declare -A lab_pid=()    # by gateway, of its running daemon
declare -A lab_number=([a]=1 [b]=2)
declare -A lab_peer=([a]=b [b]=a)
declare -A lab_ike_spi=() # by sending gateway, where charon has chosen them
declare -A lab_cipher_key=() lab_auth_key=() # by sending gateway, as hexadecimal digits

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# COMMAND...: repeats the command until it succeeds, less often with time; fails after $lab_patience.
poll()
{
	local deadline=$((SECONDS + lab_patience)) pause=50 seconds # pause: in ms
	until "$@"; do
		[[ $SECONDS -lt $deadline ]] || return 1
		printf -v seconds '0.%03d' $pause
		sleep "$seconds"
		pause=$((pause < 800 ? pause * 2 : pause))
	done
}

# NAMESPACE COMMAND...: runs the command in ha, ga, gb or hb.
on()
{
	ip netns exec "$lab_id-$1" "${@:2}"
}

# The same in the background: $! is the command itself, not a shell around it, as with "on ... &".
spawn()
{
	ip netns exec "$lab_id-$1" "${@:2}" &
}

# GATEWAY ARGUMENT...: culvertctl for the daemon of a gateway.
ctl()
{
	# shellcheck disable=SC2086 # several words
	${lab_runner[$1]-} "$lab_build/app/culvertctl/culvertctl" -i "$lab_id-$1" "${@:2}"
}

# CIPHER AUTH: chooses the algorithms of both SAs and makes new keys.
lab_choose()
{
	local line numbers cipher_key_len auth_key_len g
	line=$(grep -E "^$1 +$2 " <<<"$lab_algorithms") || fail "no algorithms $1 $2"
	IFS='|' read -r numbers lab_tshark_cipher lab_tshark_auth <<<"$line"
	read -r lab_cipher lab_auth cipher_key_len auth_key_len lab_iv_len lab_block lab_icv_len \
		<<<"$numbers"
	for g in a b; do
		lab_cipher_key[$g]=$(lab_random_hex "$cipher_key_len")
		lab_auth_key[$g]=$(lab_random_hex "$auth_key_len")
	done
}

lab_random_hex()
{
	od -An -v -tx1 -N "$1" /dev/urandom | tr -d ' \n'
}

# The largest inner packet: the WAN's MTU less the outer header, SPI and sequence number (8), IV and
# ICV, rounded down to whole blocks, less pad length and next header.
lab_inner_mtu()
{
	local outer=$((lab_outer == 4 ? 20 : 40))
	local room=$((lab_wan_mtu - outer - 8 - lab_iv_len - lab_icv_len))
	echo $((room / lab_block * lab_block - 2))
}

# To be called first: makes the folder $lab_dir, and has everything removed when the script ends,
# for any reason.
lab_begin()
{
	[[ $EUID -eq 0 ]] || fail "run as root: network namespaces need it"
	lab_dir=$(mktemp -d /tmp/culvert.XXXXXX)
	trap lab_exit EXIT
	trap 'lab_interrupted 129' HUP
	trap 'lab_interrupted 130' INT
	trap 'lab_interrupted 143' TERM
}

# STATUS: a signal ends the script. Another one, or one while it ends by itself, must not keep
# lab_exit from cleaning up.
lab_interrupted()
{
	trap '' HUP INT TERM
	[[ -n $lab_ending ]] || exit "$1"
}

# NAME...: makes namespaces. Their kernels forward nothing in a gateway's place, though a namespace forwards if the
# machine did when it was made. They have no IPv6: router solicitations and multicast reports would appear among the
# packets counted.
lab_namespace()
{
	local ns
	for ns; do
		ip netns add "$lab_id-$ns"
		on "$ns" sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0 net.ipv6.conf.default.forwarding=0 \
			net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
		ip -n "$lab_id-$ns" link set lo up
	done
}

# Makes the namespaces and the links between them.
lab_up()
{
	lab_namespace ha ga gb hb
	lab_link ha eth0 ga lan0
	lab_link hb eth0 gb lan0
	lab_link ga wan0 gb wan0
	ip -n "$lab_id-ga" link set wan0 mtu "$lab_wan_mtu"
	ip -n "$lab_id-gb" link set wan0 mtu "$lab_wan_mtu"
	lab_host ha 10.1.0.2/24 10.1.0.1
	lab_host hb 10.2.0.2/24 10.2.0.1
	if [[ -n $lab_ipv6 ]]; then
		lab_host_ipv6 ha 1
		lab_host_ipv6 hb 2
	fi
	lab_choose aes-128-gcm none
}

# Inserts a router, namespace rb, between gateway b and host b. Its addresses there, 10.9.2.9 and
# 2001:db8:92::9, are in no policy; gateway b must have ....1.
lab_router_up()
{
	lab_namespace rb
	on rb sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.default.router_solicitations=0 \
		net.ipv6.conf.all.forwarding=1 net.ipv6.conf.all.disable_ipv6=0
	ip -n "$lab_id-hb" link set eth0 netns "$lab_id-rb"
	lab_interface rb eth0
	lab_link hb eth0 rb eth1
	ip -n "$lab_id-rb" address add 10.9.2.9/24 dev eth0
	ip -n "$lab_id-rb" address add 10.2.0.1/24 dev eth1
	ip -n "$lab_id-rb" route add default via 10.9.2.1
	lab_host hb 10.2.0.2/24 10.2.0.1
	[[ -n $lab_ipv6 ]] || return 0
	ip -n "$lab_id-rb" address add 2001:db8:92::9/64 dev eth0 nodad
	ip -n "$lab_id-rb" address add 2001:db8:2::1/64 dev eth1 nodad
	ip -n "$lab_id-rb" route add default via 2001:db8:92::1
	lab_host_ipv6 hb 2
}

# NAMESPACE INTERFACE NAMESPACE INTERFACE: a cable. The gateways' ends have no kernel addresses: the
# kernel neither answers there nor forwards.
lab_link()
{
	ip -n "$lab_id-$1" link add "$2" type veth peer name "$4" netns "$lab_id-$3"
	lab_interface "$1" "$2"
	lab_interface "$3" "$4"
}

# NAMESPACE INTERFACE: a veth moves packets between kernels in their internal form: TCP segments of
# 64 KB that hardware is to segment, and checksums that hardware is to complete. A port that reads
# the packets would receive both. Without these offloads all packets are as on a wire.
lab_interface()
{
	on "$1" ethtool -K "$2" rx off tx off sg off tso off gso off gro off >/dev/null
	ip -n "$lab_id-$1" link set "$2" mtu 1500 up
}

# NAMESPACE ADDRESS/LENGTH ROUTER
lab_host()
{
	ip -n "$lab_id-$1" address add "$2" dev eth0
	ip -n "$lab_id-$1" route add default via "$3"
}

# NAMESPACE NUMBER. Quiet but for neighbour discovery: no router solicitations.
lab_host_ipv6()
{
	on "$1" sysctl -qw net.ipv6.conf.eth0.router_solicitations=0 net.ipv6.conf.eth0.disable_ipv6=0
	ip -n "$lab_id-$1" address add "2001:db8:$2::2/64" dev eth0 nodad
	ip -n "$lab_id-$1" route add default via "2001:db8:$2::1"
}

# GATEWAY...: writes their configurations.
lab_config()
{
	local g
	for g in "$@"; do
		(umask 077 && lab_config_text "$g" >"$lab_dir/$g.conf")
		unset "lab_declared[$g]"
	done
}

lab_config_text()
{
	local g=$1 peer=${lab_peer[$1]}
	local here=${lab_number[$g]} there=${lab_number[$peer]} local=192.0.2. lan6="" wan6="" route6=""
	[[ $lab_outer == 4 ]] || local=2001:db8:f::
	if [[ -n $lab_ipv6 ]]; then
		lan6=", \"2001:db8:$here::1/64\""
		wan6=", \"2001:db8:f::$here/64\""
		route6="{ to = \"2001:db8:$there::/64\"; via = \"2001:db8:f::$there\"; },"
	fi
	cat <<-END
		instance = "$lab_id-$g"; state_dir = "$lab_dir/state";
		cpus = { control = 0; workers = [ ${lab_workers[$g]} ]; };
		$lab_sandbox
		idle = "sleep"; // the hosts and the other gateway need the CPUs as well
		memory = { ${lab_memory[$g]} }; flows = { max = 10000; };
		ports = (
			{ name = "lan"; device = "${lab_lan[$g]}";
			  addresses = [ "10.$here.0.1/24"$lan6 ]; mtu = $lab_lan_mtu; },
			{ name = "wan"; device = "${lab_wan[$g]}";
			  addresses = [ "192.0.2.$here/24"$wan6 ]; mtu = $lab_wan_mtu; }
		);
		routes = (
			$route6
			{ to = "10.$there.0.0/24"; via = "192.0.2.$there"; }
		);
		sas = (
			$(lab_config_sa "to-$peer" out "$g" "$local$here" "$local$there"),
			$(lab_config_sa "from-$peer" in "$peer" "$local$here" "$local$there")
		);
		policies = (
			{ name = "$g-$peer"; local = "10.$here.0.0/24"; remote = "10.$there.0.0/24";
			  action = "protect"; out = "to-$peer"; in = "from-$peer"; },
			$(lab_config_policy_ipv6 "$g" "$peer" "$here" "$there")
			{ name = "rest"; action = "discard"; }
		);
	END
	echo "${lab_extra[$g]}"
}

# GATEWAY PEER NUMBER NUMBER
lab_config_policy_ipv6()
{
	[[ -n $lab_ipv6 ]] || return 0
	echo "{ name = \"$1-$2-6\"; local = \"2001:db8:$3::/64\"; remote = \"2001:db8:$4::/64\";
		action = \"protect\"; out = \"to-$2\"; in = \"from-$2\"; },"
}

# NAME DIRECTION SENDER LOCAL REMOTE
lab_config_sa()
{
	echo "{ name = \"$1\"; direction = \"$2\"; spi = \"$(lab_spi "$3")\";"
	[[ $2 == out ]] || echo "replay_window = $lab_replay_window;"
	echo "$lab_sa_extra"
	echo "local = \"$4\"; remote = \"$5\"; cipher = \"$lab_cipher\"; auth = \"$lab_auth\";"
	echo "${lab_cipher_key[$3]:+cipher_key = \"${lab_cipher_key[$3]}\";}"
	echo "${lab_auth_key[$3]:+auth_key = \"${lab_auth_key[$3]}\";} }"
}

# GATEWAY: prints the SPI that it sends with.
lab_spi()
{
	echo "${lab_ike_spi[$1]-0x0000100${lab_number[$1]}}"
}

# GATEWAY...: declares the keys of their configurations new, as an operator does once. Not while
# they run.
lab_new_keys()
{
	local g
	for g; do
		# shellcheck disable=SC2086 # several words
		${lab_runner[$g]-} "$lab_build/app/culvertd/culvertd" --new-keys -c "$lab_dir/$g.conf" >"$lab_dir/$g.keys" 2>&1 ||
			fail "gateway $g: $(<"$lab_dir/$g.keys")"
		lab_declared[$g]=yes
	done
}

# GATEWAY...: starts the daemons with the configurations written, and waits until they are ready.
lab_start()
{
	local g
	for g in "$@"; do
		[[ -n ${lab_declared[$g]-} ]] || lab_new_keys "$g"
		lab_launch "$g"
	done
	for g in "$@"; do
		poll lab_started "$g" || fail "gateway $g is not ready: $(gdb -p "${lab_pid[$g]}" -batch -ex 'thread apply all bt' 2>&1)"
		grep -q ' culvertd: ready' "$lab_dir/$g.log" || {
			wait "${lab_pid[$g]}" || fail "gateway $g did not start: status $?"
			fail "gateway $g did not stay"
		}
	done
}

# GATEWAY [COMMAND...]: starts it by the command, in a session of its own, so that Ctrl-C reaches
# this script alone, which stops it in order. Bash starts no new process for setsid, nor does that
# for ip: $! is the daemon. The log of the previous start must be removed before a test looks for
# "ready".
lab_launch()
{
	: >"$lab_dir/$1.log"
	# shellcheck disable=SC2086 # several words
	MALLOC_PERTURB_=${CULVERT_PERTURB-} setsid ip netns exec "$lab_id-g$1" "${@:2}" ${lab_runner[$1]-} "$lab_build/app/culvertd/culvertd" -c "$lab_dir/$1.conf" \
		</dev/null >>"$lab_dir/$1.log" 2>&1 &
	lab_pid[$1]=$!
}

lab_started()
{
	grep -q ' culvertd: ready' "$lab_dir/$1.log" || lab_gone "${lab_pid[$1]}"
}

# PID
lab_gone()
{
	! kill -0 "$1" 2>/dev/null
}

# GATEWAY...: stops the daemons; fails if one does not stop by itself or not with status 0.
lab_stop()
{
	local g pid
	for g in "$@"; do
		pid=${lab_pid[$g]}
		kill -TERM "$pid" 2>/dev/null || true
		poll lab_gone "$pid" || fail "gateway $g does not stop on SIGTERM: $(ps -L -o stat=,wchan=,comm= -p "$pid" | tr "\n" ";")"
		unset "lab_pid[$g]"
		wait "$pid" || fail "gateway $g ended with status $?"
	done
}

# GATEWAY: kills the daemon without a warning.
lab_kill()
{
	kill -KILL "${lab_pid[$1]}"
	wait "${lab_pid[$1]}" 2>/dev/null || true
	unset "lab_pid[$1]"
}

# GATEWAY COUNTER: one of `show totals`.
lab_total()
{
	ctl "$1" --json show totals | jq -e ".[0].$2"
}

# GATEWAY NUMBER: whether it has received that many packets.
lab_passed()
{
	[[ $(lab_total "$1" rx) -ge $2 ]]
}

# GATEWAY REASON: prints the number of packets dropped for it.
lab_dropped()
{
	ctl "$1" --json show drops | jq "[.[] | select(.reason == \"$2\") | .packets] | add // 0"
}

# GATEWAY...: every packet is accounted for. Counters of running workers are read one by one: a
# packet may be counted in one and not yet in the next, until traffic stops.
lab_conserved()
{
	local g
	for g in "$@"; do
		poll lab_balanced "$g" || fail "gateway $g lost count: $(ctl "$g" --json show totals)"
	done
}

lab_balanced()
{
	ctl "$1" --json show totals |
		jq -e '.[0] | .rx + .originated == .tx + .drops + .local + .held' >/dev/null
}

# NAME [TCPDUMP-ARGUMENT...]: captures the packets on the wire between the gateways, at the places of
# lab_capture_at. Into $lab_dir/NAME.pcap.
lab_capture()
{
	local name=$1 g
	shift
	for g in "${!lab_capture_at[@]}"; do
		spawn "g$g" tcpdump -i wan0 -Q "${lab_capture_at[$g]}" -n --immediate-mode -U -B 32768 \
			-w "$lab_dir/$name-$g.pcap" "$@" 2>"$lab_dir/$name-$g.log"
		lab_pid[$name-$g]=$!
		poll grep -q 'listening on' "$lab_dir/$name-$g.log" || fail "tcpdump does not start"
	done
}

# NAME-GATEWAY: whether tcpdump has written all that the kernel has captured for it, by its
# statistics.
lab_capture_written()
{
	kill -USR1 "${lab_pid[$1]}"
	tail -n 1 "$lab_dir/$1.log" | grep -qE ' ([0-9]+) packets? captured, \1 packets? received by filter'
}

# NAME: ends a capture.
lab_capture_end()
{
	local name=$1 g
	for g in "${!lab_capture_at[@]}"; do
		poll lab_capture_written "$name-$g" || fail "tcpdump does not come to an end: $(cat "$lab_dir/$name-$g.log")"
		kill -TERM "${lab_pid[$name-$g]}"
		wait "${lab_pid[$name-$g]}" || fail "tcpdump: $(cat "$lab_dir/$name-$g.log")"
		unset "lab_pid[$name-$g]"
		grep -q '^0 packets dropped by kernel' "$lab_dir/$name-$g.log" ||
			fail "the capture is not complete: $(tail -n 1 "$lab_dir/$name-$g.log")"
	done
	mergecap -w "$lab_dir/$name.pcap" "$lab_dir/$name"-[ab].pcap
}

# NAME FILTER: prints the number of packets in a capture that match a tcpdump filter.
lab_captured()
{
	tcpdump -n -r "$lab_dir/$1.pcap" --count "$2" 2>/dev/null | sed 's/ packet.*//'
}

# NAME TSHARK-ARGUMENT...: reads a capture with the keys of both SAs. Wireshark decrypts and checks
# with libgcrypt, the gateway uses OpenSSL.
lab_decode()
{
	local name=$1 g keys=()
	shift
	for g in a b; do
		keys+=(-o "uat:esp_sa:\"IPv4\",\"192.0.2.${lab_number[$g]}\",\"*\",\"$(lab_spi $g)\",\
\"$lab_tshark_cipher\",\"${lab_cipher_key[$g]:+0x${lab_cipher_key[$g]}}\",\
\"$lab_tshark_auth\",\"${lab_auth_key[$g]:+0x${lab_auth_key[$g]}}\"")
	done
	XDG_CONFIG_HOME=$lab_dir tshark -n -r "$lab_dir/$name.pcap" -o esp.enable_encryption_decode:TRUE \
		-o esp.enable_authentication_check:TRUE "${keys[@]}" "$@" \
		2> >(grep -v 'Running as user "root"' >&2)
}

# NAME: checks a capture of pings and TCP, decrypted by tshark with the keys, and prints its summary.
lab_check_samples()
{
	local esp good icmp tcp
	esp=$(lab_captured "$1" 'ip proto 50')
	good=$(lab_decode "$1" -Y 'esp.icv_good == 1 && esp.protocol == 4' | wc -l)
	icmp=$(lab_decode "$1" -Y 'esp && icmp' | wc -l)
	tcp=$(lab_decode "$1" -Y 'esp && tcp' | wc -l)
	echo "of $esp packets, the integrity check of $good is good; $icmp carry ICMP, $tcp TCP"
	[[ $good -eq $esp ]] || fail "tshark does not agree with the ICV of every packet"
	[[ $icmp -ge 20 && $tcp -gt 0 ]] || fail "tshark does not find the inner packets"
	[[ $((icmp + tcp)) -eq $esp ]] || fail "tshark finds inner packets that were not sent"
}

# FROM TO ADDRESS FILE: sends a file over TCP between namespaces and compares checksums.
lab_transfer()
{
	local received=$lab_dir/received receiver tcp=TCP4 to=$3
	[[ $3 != *:* ]] || { tcp=TCP6 && to=[$3]; }
	spawn "$2" timeout 300 socat -u -b 65536 "$tcp-LISTEN:5001,reuseaddr" CREATE:"$received"
	receiver=$!
	poll lab_listens "$2" || fail "the receiver does not listen"
	on "$1" timeout 300 socat -u -b 65536 OPEN:"$4" "$tcp:$to:5001" || fail "the sender failed"
	wait $receiver || fail "the receiver failed"
	[[ $(sha256sum <"$4") == $(sha256sum <"$received") ]] || fail "the file arrived changed"
	rm "$received"
}

lab_listens()
{
	[[ -n $(on "$1" ss -Hltn 'sport = 5001') ]]
}

# HOST: echo replies that its kernel has received so far, of both families.
replies()
{
	on "$1" nstat -asz IcmpInEchoReps Icmp6InEchoReplies | awk '/Echo/ { n += $2 } END { print n + 0 }'
}

# WHAT HOST REPLIES-BEFORE SUMMARY: all pings of these summaries were answered. The kernel's count decides
# when ping misses some: it waits two round trips for the last answer, which a busy machine exceeds.
answered_all()
{
	local sent
	echo "$4"
	sent=$(awk '/ packets transmitted/ { n += $1 } END { print n + 0 }' <<<"$4")
	[[ $sent -gt 0 ]] || fail "$1: no packets sent"
	if grep ' packet loss' <<<"$4" | grep -qv ' 0% packet loss'; then
		poll replies_reach "$2" $(($3 + sent)) ||
			fail "$1: $(($(replies "$2") - $3)) of $sent are answered"
	fi
}

replies_reach()
{
	[[ $(replies "$1") -ge $2 ]]
}

# NUMBER COMMAND...: runs the command while host A pings host B, at $lab_pinged every $lab_ping_interval s, until that
# many more pings are answered. ping's summary is in $lab_dir/pinged.
lab_ping_during()
{
	local pinger so_far
	so_far=$(replies ha)
	# With -w in the place of -c it would end at the first ICMP error.
	spawn ha ping -q -n -i "$lab_ping_interval" -c 88000 "$lab_pinged" >"$lab_dir/pinged"
	pinger=$!
	poll replies_reach ha $((so_far + 50)) || fail "no traffic"
	"${@:2}"
	so_far=$(replies ha)
	poll replies_reach ha $((so_far + $1)) || fail "no traffic after ${*:2}"
	kill -INT $pinger
	wait $pinger || true
}

# WHAT COMMAND...: of the pings during the command none is lost.
lab_lossless()
{
	local before
	before=$(replies ha)
	lab_ping_during 50 "${@:2}"
	answered_all "pings during $1" ha "$before" "$(<"$lab_dir/pinged")"
}

# The end of the script.
lab_exit()
{
	local status=$? undo
	lab_ending=yes
	trap '' HUP INT TERM
	set +e
	trap - ERR
	if [[ $status -gt 0 && $status -lt 128 && $status -ne 77 ]]; then
		lab_diagnose >&2
	fi
	for undo in "${lab_undo[@]}"; do
		$undo
	done
	if [[ -n $lab_keep && ${#lab_pid[@]} -gt 0 && $status -lt 128 ]]; then
		lab_remains
	else
		jobs -p | xargs -r kill 2>/dev/null
		lab_down
	fi
	exit $status
}

lab_diagnose()
{
	local g
	for g in a b c d; do
		[[ -e $lab_dir/$g.log ]] || continue
		echo "--- gateway $g: log"
		tail -n 100 "$lab_dir/$g.log"
		if [[ -z ${lab_pid[$g]-} ]] || lab_gone "${lab_pid[$g]}"; then
			continue
		fi
		echo "--- gateway $g: counters"
		ctl "$g" show totals
		ctl "$g" show drops
	done
}

# Prints the remaining processes and namespaces, how to inspect it and how to remove it.
lab_remains()
{
	local g
	declare -f lab_down >"$lab_dir/remove"
	echo "lab_id=$lab_id lab_dir=$lab_dir; lab_down" >>"$lab_dir/remove"
	echo "Left running. Look around with"
	for g in a b; do
		echo "  $lab_build/app/culvertctl/culvertctl -i $lab_id-$g show sas"
	done
	echo "  (show ports|sas|policies|routes|neighbours|drops|workers|totals|info, and --json)"
	echo "  ip netns exec $lab_id-ha ping 10.2.0.2"
	echo "  ip netns exec $lab_id-ga tcpdump -ni wan0"
	echo "Configurations, logs and captures are in $lab_dir. Remove it all with"
	echo "  bash $lab_dir/remove"
}

# Ends the processes in the namespaces, also in namespaces that a test has made with similar names, and
# removes everything.
lab_down()
{
	local ns signal try
	for ns in $(ip netns list | sed -n "s/^\($lab_id-[^ ]*\).*/\1/p"); do
		for signal in TERM KILL; do
			for ((try = 0; try < 100; try++)); do
				pids=$(ip netns pids "$ns" 2>/dev/null)
				[[ -n $pids ]] || break 2
				# shellcheck disable=SC2086 # several numbers
				[[ $try -gt 0 ]] || kill -$signal $pids 2>/dev/null
				sleep 0.05
			done
		done
		ip netns del "$ns" 2>/dev/null
	done
	rm -rf "$lab_dir" "/var/run/dpdk/culvert-$lab_id-"* "/run/culvert/$lab_id-"*.replay
}
