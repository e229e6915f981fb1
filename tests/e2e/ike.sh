# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What the tests of IKE share: charons in namespaces, and swanctl for each. Each charon has a folder of its
# own, $lab_dir/swan-NAMESPACE, and of the machine only its programs.

# Where charon looks for plugins, and who the plugin is.
ike_plugins=/usr/lib/ipsec/plugins
ike_plugin=$lab_build/app/charon/libstrongswan-kernel-culvert.so
declare -A ike_pid=()

# Skips the test where strongSwan cannot be had.
ike_need()
{
	exec {ike_lock}>"$lab_build/ike.lock" # of several tests that begin at once, one installs and builds
	flock "$ike_lock"
	[[ -x /usr/sbin/charon-systemd && -e $ike_plugin ]] || ike_install
	exec {ike_lock}>&-
	[[ -c /dev/net/tun ]] || { echo "no /dev/net/tun for kernel-libipsec" && exit 77; }
}

ike_install()
{
	local said
	said=$({ "$lab_root/app/packages" ike && "$lab_root/app/charon/sources"; } 2>&1) ||
		{ echo "no strongSwan: $said" && exit 77; }
	said=$({ meson setup --reconfigure "$lab_build" && ninja -C "$lab_build" "${ike_plugin#"$lab_build/"}"; } 2>&1) ||
		fail "the plugin is not built: $said"
}

# Namespace ike: the station with gateway a's address.
ike_station()
{
	ip netns add "$lab_id-ike"
	on ike sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	lab_link ga ike0 ike eth0
	ip -n "$lab_id-ike" address add 169.254.7.2/30 dev eth0
	ip -n "$lab_id-ike" link set lo up
	ip -n "$lab_id-ike" address add 192.0.2.1/32 dev lo
	ip -n "$lab_id-ike" route add default via 169.254.7.1 src 192.0.2.1
}

# Namespace gb: a router of the kernel instead of gateway b.
ike_kernel_peer()
{
	on gb sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	ip -n "$lab_id-gb" address add 192.0.2.2/24 dev wan0
	ip -n "$lab_id-gb" address add 10.2.0.1/24 dev lan0
}

# Gateway a without SAs.
ike_config()
{
	local host=${lab_wan[a]/wan0/ike0}
	(umask 077 && cat >"$lab_dir/a.conf") <<-END
		instance = "$lab_id-a"; state_dir = "$lab_dir/state";
		cpus = { control = 0; workers = [ ${lab_workers[a]} ]; };
		idle = "sleep";
		$lab_sandbox memory = { size = 128; hugepages = false; }; flows = { max = 10000; };
		ports = (
			{ name = "lan"; device = "${lab_lan[a]}"; addresses = [ "10.1.0.1/24" ]; },
			{ name = "wan"; side = "unprotected"; device = "${lab_wan[a]}"; addresses = [ "192.0.2.1/24" ]; },
			{ name = "host"; device = "${host/packet1/packet2}"; addresses = [ "169.254.7.1/30" ]; }
		);
		routes = ( { to = "10.2.0.0/24"; via = "192.0.2.2"; } );
		policies = (
			{ name = "ike"; local = "192.0.2.1"; proto = "udp"; local_port = 500; action = "bypass"; },
			{ name = "ike-nat"; local = "192.0.2.1"; proto = "udp"; local_port = 4500; action = "bypass"; },
			{ name = "rest"; action = "discard"; }
		);
		ike = { via = [ "169.254.7.2" ]; };
	END
}

# NAMESPACE [GATEWAY]: starts a charon there, which drives the gateway, or has its own ESP, kernel-libipsec.
ike_start()
{
	local dir=$lab_dir/swan-$1 plugin=kernel-libipsec routes=yes
	[[ $# -eq 1 ]] || { plugin=kernel-culvert && routes=no; }
	mkdir -p "$dir/swanctl/"{x509,x509ca,x509ocsp,x509aa,x509ac,x509crl,pubkey,private,rsa,ecdsa,bliss,pkcs8,pkcs12} "$dir/plugins"
	cp "$ike_plugins"/*.so "$dir/plugins"
	cp "$ike_plugin" "$dir/plugins"
	rm -f "$dir/log"
	cat >"$dir/strongswan.conf" <<-END
		charon-systemd {
			load = random nonce aes sha1 sha2 hmac kdf gcm mgf1 openssl pem pkcs1 pkcs8 pubkey x509 gmp drbg $plugin kernel-netlink socket-default vici
			install_virtual_ip = no
			install_routes = $routes
			plugins {
				$plugin { load = 10
					instance = $lab_id-${2-}
					before = rest }
				vici { socket = unix://$dir/vici }
			}
			filelog { log { path = $dir/log
				default = 1
				knl = 2
				chd = 2
				flush_line = yes } }
			journal { default = -1 }
		}
		swanctl { socket = unix://$dir/vici
			load = random }
	END
	spawn "$1" env STRONGSWAN_CONF="$dir/strongswan.conf" SWANCTL_DIR="$dir/swanctl" sh -c \
		"mount --bind $dir/plugins $ike_plugins && exec /usr/sbin/charon-systemd" >"$dir/out" 2>&1
	ike_pid[$1]=$!
	poll swan "$1" --stats >/dev/null 2>&1 || fail "charon does not start: $(cat "$dir/out" "$dir/log")"
	[[ ! -e $dir/swanctl/swanctl.conf ]] || swan "$1" --load-all >/dev/null
}

# NAMESPACE ARGUMENT...: swanctl for the charon there.
swan()
{
	STRONGSWAN_CONF=$lab_dir/swan-$1/strongswan.conf SWANCTL_DIR=$lab_dir/swan-$1/swanctl timeout 60 swanctl "${@:2}"
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
				esp_proposals = ${ike_esp:-aes128gcm16}
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

# [SETTING...]: a connection site between gateway a and the peer, at both ends.
ike_load_site()
{
	ike_load ike site 192.0.2.1 192.0.2.2 10.1.0.0/24 10.2.0.0/24 "${1-}"
	ike_load gb site 192.0.2.2 192.0.2.1 10.2.0.0/24 10.1.0.0/24 "${1-}"
}

# GATEWAY: it has no SAs.
no_sas()
{
	[[ -z $(gateway_spis "$1") ]]
}

# NAMESPACE: the SPIs of its CHILD_SAs, in order.
ike_spis()
{
	swan "$1" --list-sas --raw | grep -oE 'spi-(in|out)=[0-9a-f]+' | sed 's/.*=//' | sort | xargs
}

# NAMESPACE: the SPI of its IKE_SA.
ike_cookie()
{
	swan "$1" --list-sas --raw | grep -oE 'initiator-spi=[0-9a-f]+' | sort | xargs
}

# GATEWAY: the SPIs of its SAs, as above.
gateway_spis()
{
	ctl "$1" --json show sas | jq -r '.[].spi' | sed 's/^0x//' | sort | xargs
}

# NAMESPACE GATEWAY: charon and the gateway have the same SAs.
same_spis()
{
	equal "SPIs of the gateway" "$(gateway_spis "$2")" "$(ike_spis "$1")"
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

# NAMESPACE
ike_kill()
{
	kill -KILL "${ike_pid[$1]}"
	wait "${ike_pid[$1]}" 2>/dev/null || true
	unset "ike_pid[$1]"
}
