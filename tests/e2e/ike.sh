# shellcheck shell=bash disable=SC2154 # lab_root is of app/lab.sh, which the tests include
# SPDX-License-Identifier: BSD-3-Clause
# Shared by the tests of IKE: the charons of the laboratory, a peer that is the kernel and strongSwan's own ESP, and
# checks.
. "${BASH_SOURCE[0]%/*}/../../app/ike_lab.sh"

# Skips the test where it cannot run. tests/run installs strongSwan and builds the plugin before.
ike_need()
{
	[[ -x /usr/sbin/charon-systemd ]] || ike_skip "no strongSwan: app/packages ike"
	[[ -e $ike_plugin ]] || ike_skip "$ike_plugin is not built: app/charon/sources; meson setup --reconfigure $lab_build; ninja -C $lab_build"
	[[ -c /dev/net/tun ]] || ike_skip "no /dev/net/tun for kernel-libipsec"
}

# REASON
ike_skip()
{
	echo "skipped: $1"
	exit 77
}

# SECTION NUMBER: that block of settings of docs/ike.md; of the section's name the begin.
ike_documented()
{
	awk -v name="## $1" -v n="$2" '/^## / { section = index($0, name) == 1 } section && /^```/ { i++; next } section && i == 2 * n - 1' "$lab_root/docs/ike.md"
}

# NAMESPACE PLUGIN FOLDER: compiles a plugin that Debian does not build for charon there, from that folder of strongSwan's sources.
ike_compile()
{
	local sources plugins=$lab_dir/swan-$1/plugins
	sources=$(jq -r '.[] | select(.name == "strongswan") | .value' "$lab_build/meson-info/intro-buildoptions.json")/src
	compgen -G "$sources/$3/*.c" >/dev/null || ike_skip "no plugin $2 in the sources of this strongSwan: app/charon/sources"
	mkdir -p "$plugins"
	# shellcheck disable=SC2086 # words
	${CC:-gcc} -shared -fPIC -O2 -include "$lab_root/app/charon/config.h" '-DIPSEC_PIDDIR="/run"' \
		-I "$sources/libstrongswan" -I "$sources/libcharon" -o "$plugins/libstrongswan-$2.so" "$sources/$3"/*.c
}

# GATEWAY: a router of the kernel instead of it.
ike_kernel_peer()
{
	local ns=g$1 n=${lab_number[$1]}
	on "$ns" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	ip -n "$lab_id-$ns" address add "192.0.2.$n/24" dev wan0
	ip -n "$lab_id-$ns" address add "10.$n.0.1/24" dev lan0
	[[ -n $lab_ipv6 ]] || return 0
	on "$ns" sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0 net.ipv6.conf.all.forwarding=1
	ip -n "$lab_id-$ns" address add "2001:db8:f::$n/64" dev wan0 nodad
	ip -n "$lab_id-$ns" address add "2001:db8:$n::1/64" dev lan0 nodad
}

# Gateway a, the charon that drives it, in namespace ike, and the peer: one in namespace gb with its own ESP.
ike_up()
{
	ike_need
	lab_up
	ike_station
	ike_kernel_peer b
	ike_config
	lab_start a
	ike_start ike a
	ike_start gb
	ike_peer=gb
}

# The same, but the peer is gateway b, driven by a charon in namespace ikeb.
ike_up_twice()
{
	ike_need
	lab_up
	ike_station
	ike_station b ikeb
	ike_config a
	ike_config b
	lab_start a b
	ike_start ike a
	ike_start ikeb b
	ike_peer=ikeb
}

# [SETTING...]: a connection site between gateway a and the peer, at both ends.
ike_load_site()
{
	ike_load ike site 192.0.2.1 192.0.2.2 10.1.0.0/24 10.2.0.0/24 "${1-}"
	ike_load "$ike_peer" site 192.0.2.2 192.0.2.1 10.2.0.0/24 10.1.0.0/24 "${1-}"
}

# GATEWAY: it has no SAs.
no_sas()
{
	[[ -z $(gateway_spis "$1") ]]
}

# GATEWAY...: waits until they have no SAs.
ike_gone()
{
	local g
	for g; do
		poll no_sas "$g" || fail "SAs remain: $(ctl "$g" show sas)"
	done
}

# NAMESPACE: charon there establishes the tunnel site.
ike_initiate()
{
	swan "$1" --initiate --child site >"$lab_dir/initiate" 2>&1 || fail "${ike_esp-}: no tunnel: $(<"$lab_dir/initiate")"
}

# NAMESPACE: the SPI of its IKE_SA.
ike_cookie()
{
	swan "$1" --list-sas --raw | grep -oE 'initiator-spi=[0-9a-f]+' | sort | xargs
}

cookie_changed()
{
	[[ $(ike_cookie ike | wc -w) -eq 1 && $(ike_cookie ike) != "$1" ]]
}

# NAMESPACE: charon there renews the keys of the IKE_SA site.
ike_rekey_sa()
{
	local old
	old=$(ike_cookie ike)
	swan "$1" --rekey --ike site >/dev/null
	poll cookie_changed "$old" || fail "the IKE_SA is still the same"
}

# NAMESPACE GATEWAY: charon and the gateway have the same SAs.
same_spis()
{
	equal "SPIs of the gateway" "$(gateway_spis "$2")" "$(ike_spis "$1")"
}

# COUNTER NUMBER: the kernel that gateway a's charon runs on has counted that many, by the name of nstat.
ike_kernel_counted()
{
	[[ $(on ike nstat -asz "$1" | awk 'NR == 2 { print $2 }') -ge $2 ]]
}

# COMMAND...: it moves an end of the tunnel; of pings from host A no more are lost than those of a second.
few_lost()
{
	local lost
	lab_ping_during 200 "$@"
	cat "$lab_dir/pinged"
	lost=$(sed -nE 's/^([0-9]+) packets transmitted, ([0-9]+) received.*/\1 - \2/p' "$lab_dir/pinged")
	[[ $((lost)) -le 100 ]] || fail "$((lost)) pings are lost, more than those of a second"
}

# NAMESPACE
ike_kill()
{
	kill -KILL "${ike_pid[$1]}"
	wait "${ike_pid[$1]}" 2>/dev/null || true
	unset "ike_pid[$1]"
}

# KIND NAMESPACE: SPIs of charon's SAs that are in use, without replaced ones: of CHILD_SAs both, of IKE_SAs one.
in_use()
{
	local sas
	sas=$(swan "$2" --list-sas --raw)
	case $1 in
	child) sed -nE 's/state=INSTALLED mode=TUNNEL protocol=ESP( encap=yes)? spi-in=([0-9a-f]+) spi-out=([0-9a-f]+)/\n=\2\n=\3\n/gp' <<<"$sas" ;;
	# charon retransmits for a redundant one that the other end does not know any more.
	ike) sed -nE 's/.*state=ESTABLISHED [^{]*initiator-spi=([0-9a-f]+).*/=\1/p' <<<"$sas" ;;
	esac | sed -n 's/^=//p' | sort | xargs
}

# KIND SPIS: both ends use one SA of that kind, the same one, and not the one that had these.
agreed()
{
	local here
	local -A words=([child]=2 [ike]=1)
	here=$(in_use "$1" ike)
	[[ $here != "$2" && $(wc -w <<<"$here") -eq ${words[$1]} && $(in_use "$1" "$ike_peer") == "$here" ]]
}

# KIND: both ends have asked the other one to renew the keys.
asked()
{
	local ns
	local -A next=([child]=mode [ike]=local-host) # the field after the state
	for ns in ike "$ike_peer"; do
		swan "$ns" --list-sas --raw | grep -q "state=REKEYING ${next[$1]}=" || return 1
	done
}

# PATTERN: nothing in the list of either charon's SAs matches.
unlisted()
{
	local ns
	for ns in ike "$ike_peer"; do
		! swan "$ns" --list-sas --raw | grep -qE "$1" || return 1
	done
}

# KIND NAMESPACE...: charons there renew the keys of the child, or those of the ike. With both ends, IKE messages are dropped until
# both have begun. charon never destroys a CHILD_SA whose time is over while the IKE_SA is replaced: they are gone before.
ike_renew()
{
	local old ns over="tasks-(active|queued)="
	[[ $1 == child ]] || over+="|state=DELETED"
	[[ "$1 $#" == "child 2" ]] || poll unlisted "$over" ||
		fail "no end of a rekey: $(swan ike --list-sas --raw) $(swan "$ike_peer" --list-sas --raw)"
	old=$(in_use "$1" ike)
	[[ $# -eq 2 ]] || on "$ike_peer" nft 'table inet hold {
		chain in { type filter hook input priority 0; udp dport 4500 @th,64,32 0 drop; }
		chain out { type filter hook output priority 0; udp sport 4500 @th,64,32 0 drop; }
	}'
	for ns in "${@:2}"; do # a CHILD_SA belongs to no IKE_SA for a moment while the latter is rekeyed
		poll swan "$ns" --rekey "--$1" site >/dev/null || fail "no $1 to rekey: $(swan "$ns" --list-sas --raw)"
	done
	if [[ $# -gt 2 ]]; then
		poll asked "$1" || fail "no rekey: $(swan ike --list-sas --raw) $(swan "$ike_peer" --list-sas --raw)"
		on "$ike_peer" nft delete table inet hold
	fi
	poll agreed "$1" "$old" || fail "no new keys: $(swan ike --list-sas) $(swan "$ike_peer" --list-sas)"
}

# charon and the gateway have one pair of SAs, and so does the peer.
settled()
{
	local here
	here=$(in_use child ike)
	[[ $(wc -w <<<"$here") -eq 2 && $(gateway_spis a) == "$here" && $(ike_spis "$ike_peer") == "$here" ]]
}

# Waits for that.
ike_settle()
{
	poll settled || fail "SAs remain: $(ctl a show sas) $(swan ike --list-sas) $(swan "$ike_peer" --list-sas)"
}

# Prints how many rekeys collided, by the logs of both charons.
ike_collisions()
{
	cat "$lab_dir"/swan-{ike,"$ike_peer"}/log | grep -cE 'detected ((CHILD|IKE)_REKEY collision with (CHILD|IKE)_REKEY|rekey collision for CHILD_SA)'
}
