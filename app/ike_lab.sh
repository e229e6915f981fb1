# shellcheck shell=bash disable=SC2034,SC2154 # variables of lab.sh, which is sourced before
# SPDX-License-Identifier: BSD-3-Clause
# IKE in the laboratory of lab.sh, for app/quickstart and tests/e2e: charons in namespaces, and swanctl for each. Each charon
# has a folder of its own, $lab_dir/swan-NAMESPACE, and of the machine only its programs.

# Where charon looks for plugins, and who the plugin is.
ike_plugins=/usr/lib/ipsec/plugins
ike_plugin=$lab_build/app/charon/libstrongswan-kernel-culvert.so
declare -A ike_pid=()
ike_also= # more plugins
ike_more= # settings of charon's
ike_chd=2 # level of the log about CHILD_SAs; with 4 it has their keys

# Whether the build knows the plugin: it was configured when strongSwan's headers were there.
ike_buildable()
{
	ninja -C "$lab_build" -t query "${ike_plugin#"$lab_build/"}" >/dev/null 2>&1
}

# GATEWAY NAMESPACE: makes it, by default namespace ike for gateway a: the station with the gateway's address.
ike_station()
{
	local g=${1-a} ns=${2-ike}
	ip netns add "$lab_id-$ns"
	on "$ns" sysctl -qw "net.ipv6.conf.all.disable_ipv6=$((${#lab_ipv6} == 0))"
	lab_link "g$g" ike0 "$ns" eth0
	ip -n "$lab_id-$ns" address add 169.254.7.2/30 dev eth0
	ip -n "$lab_id-$ns" link set lo up
	ip -n "$lab_id-$ns" address add "192.0.2.${lab_number[$g]}/32" dev lo
	ip -n "$lab_id-$ns" route add default via 169.254.7.1 src "192.0.2.${lab_number[$g]}"
	[[ -n $lab_ipv6 ]] || return 0
	ip -n "$lab_id-$ns" address add fd00:7::2/64 dev eth0 nodad
	ip -n "$lab_id-$ns" address add "2001:db8:f::${lab_number[$g]}/128" dev lo nodad
	ip -n "$lab_id-$ns" route add default via fd00:7::1 src "2001:db8:f::${lab_number[$g]}"
}

# [GATEWAY]: writes its configuration, by default a's, without SAs.
ike_config()
{
	local g=${1-a}
	local here=${lab_number[$g]} there=${lab_number[${lab_peer[$g]}]} host=${lab_wan[$g]/wan0/ike0}
	local lan6="" wan6="" host6="" via6="" route6="" policies6=""
	if [[ -n $lab_ipv6 ]]; then
		lan6=", \"2001:db8:$here::1/64\""
		wan6=", \"2001:db8:f::$here/64\""
		host6=', "fd00:7::1/64"' via6=', "fd00:7::2"'
		route6="{ to = \"2001:db8:$there::/64\"; via = \"2001:db8:f::$there\"; },"
		policies6="{ name = \"ike6\"; local = \"2001:db8:f::$here\"; proto = \"udp\"; local_port = 500; action = \"bypass\"; },
			{ name = \"ike6-nat\"; local = \"2001:db8:f::$here\"; proto = \"udp\"; local_port = 4500; action = \"bypass\"; },"
	fi
	(umask 077 && cat >"$lab_dir/$g.conf") <<-END
		instance = "$lab_id-$g"; state_dir = "$lab_dir/state";
		cpus = { control = 0; workers = [ ${lab_workers[$g]} ]; };
		idle = "sleep";
		$lab_sandbox memory = { size = 128; hugepages = false; }; flows = { max = 10000; };
		ports = (
			{ name = "lan"; device = "${lab_lan[$g]}"; addresses = [ "10.$here.0.1/24"$lan6 ]; },
			{ name = "wan"; side = "unprotected"; device = "${lab_wan[$g]}"; addresses = [ "192.0.2.$here/24"$wan6 ]; },
			{ name = "host"; device = "${host/packet1/packet2}"; addresses = [ "169.254.7.1/30"$host6 ]; }
		);
		routes = ( $route6 { to = "10.$there.0.0/24"; via = "192.0.2.$there"; } );
		policies = (
			{ name = "ike"; local = "192.0.2.$here"; proto = "udp"; local_port = 500; action = "bypass"; },
			{ name = "ike-nat"; local = "192.0.2.$here"; proto = "udp"; local_port = 4500; action = "bypass"; },
			$policies6
			{ name = "rest"; action = "discard"; }
		);
		ike = { via = [ "169.254.7.2"$via6 ]; before = "rest"; };
		${lab_extra[$g]-}
	END
}

# NAMESPACE PLUGIN [GATEWAY]: the settings of a charon there, whose ESP is the plugin's.
ike_settings()
{
	local dir=$lab_dir/swan-$1 plugin=$2 routes=yes
	[[ $# -eq 2 ]] || routes=no
	mkdir -p "$dir/swanctl/"{x509,x509ca,x509ocsp,x509aa,x509ac,x509crl,pubkey,private,rsa,ecdsa,bliss,pkcs8,pkcs12} "$dir/plugins"
	cp "$ike_plugins"/*.so "$dir/plugins"
	cp "$ike_plugin" "$dir/plugins"
	rm -f "$dir/log"
	cat >"$dir/strongswan.conf" <<-END
		charon-systemd {
			load = random nonce aes sha1 sha2 hmac kdf gcm mgf1 openssl ml pem pkcs1 pkcs8 pubkey x509 gmp drbg $plugin kernel-netlink socket-default vici $ike_also
			install_virtual_ip = no
			install_routes = $routes
			delete_rekeyed_delay = 1
			$ike_more
			plugins {
				$plugin { load = 10
					instance = $lab_id-${3-}
					}
				vici { socket = unix://$dir/vici }
			}
			filelog { log { path = $dir/log
				default = 1
				knl = 2
				chd = $ike_chd
				flush_line = yes } }
			journal { default = -1 }
		}
		swanctl { socket = unix://$dir/vici
			load = random }
	END
}

# NAMESPACE [GATEWAY]: starts a charon there, which drives the gateway, or has its own ESP, kernel-libipsec.
ike_start()
{
	if [[ $# -eq 2 ]]; then
		ike_settings "$1" kernel-culvert "$2"
	else
		ike_settings "$1" kernel-libipsec
	fi
	ike_launch "$1"
}

# NAMESPACE: starts a charon there with the settings written. If it has a folder run, that is its /run.
ike_launch()
{
	local dir=$lab_dir/swan-$1
	spawn "$1" env STRONGSWAN_CONF="$dir/strongswan.conf" SWANCTL_DIR="$dir/swanctl" sh -c \
		"mount --bind $dir/plugins $ike_plugins && if [ -d $dir/run ]; then mount --bind /run/dpdk $dir/run/dpdk &&
		mount --rbind $dir/run /run; fi && exec /usr/sbin/charon-systemd" >"$dir/out" 2>&1
	ike_started "$1"
}

# NAMESPACE: waits for the charon that was started there as $!.
ike_started()
{
	local dir=$lab_dir/swan-$1
	ike_pid[$1]=$!
	poll swan "$1" --stats >/dev/null 2>&1 || fail "charon does not start: $(cat "$dir/out" "$dir/log")"
	[[ ! -e $dir/swanctl/swanctl.conf ]] || swan "$1" --load-all >/dev/null
}

# NAMESPACE ARGUMENT...: swanctl for the charon there.
swan()
{
	STRONGSWAN_CONF=$lab_dir/swan-$1/strongswan.conf SWANCTL_DIR=$lab_dir/swan-$1/swanctl timeout "$lab_patience" swanctl "${@:2}"
}

# NAMESPACE NAME LOCAL REMOTE LOCAL-NET REMOTE-NET SETTINGS: a connection by pre-shared key, loaded.
ike_load()
{
	(umask 077 && cat >"$lab_dir/swan-$1/swanctl/swanctl.conf") <<-END
		connections { $2 {
			version = 2
			local_addrs = $3
			remote_addrs = $4
			rekey_time = 0
			local { auth = psk
				id = $3 }
			remote { auth = psk
				id = $4 }
			children { $2 {
				local_ts = $5
				remote_ts = $6
				${ike_proto:-esp}_proposals = ${ike_esp:-aes128gcm16}
				rekey_time = 0
				${7-}
			} }
		} }
		secrets { ike-1 { secret = "a test and no secret" } }
	END
	swan "$1" --load-all >"$lab_dir/loaded" 2>&1 || fail "swanctl: $(<"$lab_dir/loaded")"
}

# Prints the logs of the charons when the test has failed.
ike_logs()
{
	local log
	[[ ${status-0} -eq 0 || ${status-0} -eq 77 ]] || for log in "$lab_dir"/swan-*/log; do
		echo "--- $log" && tail -n 60 "$log"
	done >&2
}
lab_undo+=(ike_logs)

# NAMESPACE: the SPIs of its CHILD_SAs, in order.
ike_spis()
{
	swan "$1" --list-sas --raw | grep -oE 'spi-(in|out)=[0-9a-f]+' | sed 's/.*=//' | sort | xargs
}

# GATEWAY: the SPIs of its SAs, as above.
gateway_spis()
{
	ctl "$1" --json show sas | jq -r '.[].spi' | sed 's/^0x//' | sort | xargs
}

# SPIS NAMESPACE GATEWAY: charon there and the gateway have one pair of SAs, another one than that.
ike_renewed()
{
	[[ $(ike_spis "$2") != "$1" && $(gateway_spis "$3" | wc -w) -eq 2 && $(gateway_spis "$3") == "$(ike_spis "$2")" ]]
}

# SPIS [NAMESPACE GATEWAY]: waits for that, by default in namespace ike and gateway a.
ike_await_renewed()
{
	poll ike_renewed "$1" "${2-ike}" "${3-a}" || fail "the keys are still the same, or old SAs remain: $(ctl "${3-a}" show sas)"
}

# NAMESPACE [NAMESPACE GATEWAY]: the first charon renews the keys of the CHILD_SA site; the others are looked at as above.
ike_rekey()
{
	local old
	old=$(ike_spis "${2-ike}")
	swan "$1" --rekey --child site >/dev/null
	ike_await_renewed "$old" "${@:2}"
}

# Takes SPIs and keys of the CHILD_SA site, which gateway a has initiated, from charon's log, for lab_decode.
ike_keys()
{
	local log=$lab_dir/swan-ike/log
	lab_ike_spi[a]=$(swan ike --list-sas --raw | sed -n 's/.*spi-out=\([0-9a-f]*\).*/0x\1/p')
	lab_ike_spi[b]=$(swan ike --list-sas --raw | sed -n 's/.*spi-in=\([0-9a-f]*\).*/0x\1/p')
	lab_cipher_key[a]=$(ike_logged_key "encryption initiator key" <"$log")
	lab_cipher_key[b]=$(ike_logged_key "encryption responder key" <"$log")
}

# NAME: the last dump of a key in a log, in hexadecimal digits.
ike_logged_key()
{
	awk -v name="$1 =>" 'index($0, name) { key = ""; dump = 1; next }
		dump && match($0, /[0-9]+: ([0-9A-F][0-9A-F] )+/) { line = substr($0, RSTART, RLENGTH); sub(/^[0-9]+:/, "", line); key = key line; next }
		{ dump = 0 }
		END { gsub(/ /, "", key); print tolower(key) }'
}

# NAMESPACE...
ike_stop()
{
	local ns
	for ns; do
		kill -TERM "${ike_pid[$ns]}"
		poll lab_gone "${ike_pid[$ns]}" || fail "charon in $ns does not stop"
		wait "${ike_pid[$ns]}" || fail "charon in $ns ended with status $?"
		unset "ike_pid[$ns]"
	done
}
