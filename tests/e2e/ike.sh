# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What the tests of IKE share: the charons of the laboratory, a peer that is the kernel and strongSwan's own ESP, and words for checks.
. "${BASH_SOURCE[0]%/*}/../../app/ike_lab.sh"

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

# Namespace gb: a router of the kernel instead of gateway b.
ike_kernel_peer()
{
	on gb sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	ip -n "$lab_id-gb" address add 192.0.2.2/24 dev wan0
	ip -n "$lab_id-gb" address add 10.2.0.1/24 dev lan0
}

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

# NAMESPACE: the SPI of its IKE_SA.
ike_cookie()
{
	swan "$1" --list-sas --raw | grep -oE 'initiator-spi=[0-9a-f]+' | sort | xargs
}

# NAMESPACE GATEWAY: charon and the gateway have the same SAs.
same_spis()
{
	equal "SPIs of the gateway" "$(gateway_spis "$2")" "$(ike_spis "$1")"
}

# NAMESPACE
ike_kill()
{
	kill -KILL "${ike_pid[$1]}"
	wait "${ike_pid[$1]}" 2>/dev/null || true
	unset "ike_pid[$1]"
}
