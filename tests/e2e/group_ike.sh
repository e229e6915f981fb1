# shellcheck shell=bash disable=SC2154,SC2034 # lab_root is of app/lab.sh, which the tests include; ike.sh reads ike_also
# SPDX-License-Identifier: BSD-3-Clause
# For tests of a pair of gateways (group.sh), each driven by a charon, which give each other their SAs by strongSwan's plugin
# ha. The peer b is a gateway with a charon of its own. Sourced after group.sh and ike.sh.
#
#     ike --- a ---+--- b --- ikeb       ike and ikec, the charons, have a link of their own: 10.9.1.11, 10.9.1.12
#     ikec -- c ---+                     a and c as well: 10.9.0.11, 10.9.0.12
declare -A charon_of=([a]=ike [c]=ikec)

# NAMESPACE GATEWAY OWN OTHER: starts the charon of a member, which has a /run of its own: ha has its FIFO there.
charon_start()
{
	local ike_also=ha ike_more="plugins { ha { local = 10.9.1.$3
		remote = 10.9.1.$4
		monitor = no } }"
	mkdir -p "$lab_dir/swan-$1/run/dpdk"
	ike_start "$1" "$2"
}

# A charon that reads its connections more than a second after its start misses the SAs of the other one, as on a busy
# machine (docs/pair.md): that one sends them again.
declare -A missed=([ike]=0 [ikec]=0)
resync()
{
	local ns n other
	for ns in ike ikec; do
		n=$(grep -c 'HA is missing nodes peer configuration' "$lab_dir/swan-$ns/log") || true
		((n > missed[$ns])) || continue
		missed[$ns]=$n
		other=ike
		[[ $ns == ikec ]] || other=ikec
		echo "$ns has missed the SAs of $other"
		timeout 5 bash -c "echo '*1' >$lab_dir/swan-$other/run/charon.ha" || true
	done
}

# All gateways and charons have the same pair of SAs, and not these.
agree()
{
	local now
	resync
	now=$(gateway_spis b)
	[[ $(wc -w <<<"$now") -eq 2 && $now != "$1" && $(gateway_spis a) == "$now" && $(gateway_spis c) == "$now" &&
		$(ike_spis ike) == "$now" && $(ike_spis ikec) == "$now" && $(ike_spis ikeb) == "$now" ]]
}

# SPIS WHEN: waits for that.
await_agree()
{
	poll agree "$1" || fail "$2: the SAs were $1; $(for g in a b c; do ctl $g show sas; done)
		$(for ns in ike ikec ikeb; do swan $ns --list-sas; done)"
}

# NAMESPACE STATE: all its IKE_SAs are in that state.
ike_is() { [[ $(swan "$1" --list-sas --raw | grep -oE 'state=[A-Z]+ local-host' | sort -u) == "state=$2 local-host" ]]; }

# Both gateways, their configurations and links.
group_ike_up()
{
	ike_need
	[[ -e $ike_plugins/libstrongswan-ha.so ]] || ike_skip "no plugin ha: app/packages ike"

	group_up
	ike_station a ike
	ike_station c ikec
	ike_station b ikeb
	lab_link ike ha0 ikec ha0
	ip -n "$lab_id-ike" address add 10.9.1.11/24 dev ha0
	ip -n "$lab_id-ikec" address add 10.9.1.12/24 dev ha0
	group_channel
	for g in a b c; do
		ike_config $g
	done
	group_addresses a c
}

# All start; a is active, and its charon has the SAs.
group_ike_start()
{
	lab_start a b c
	charon_start ike a 11 12
	charon_start ikec c 12 11
	ike_start ikeb b
	poll both_in_sync || fail "no channel: $(ctl a show members)"
	ike_load ikeb site 192.0.2.2 192.0.2.1 10.2.0.0/24 10.1.0.0/24
	ike_load ikec site 192.0.2.1 192.0.2.2 10.1.0.0/24 10.2.0.0/24 "start_action = start" # a standby that tries
	ike_load ike site 192.0.2.1 192.0.2.2 10.1.0.0/24 10.2.0.0/24 "start_action = trap"
	ike_initiate ike
	await_agree none "at the start"
	poll ike_is ike ESTABLISHED || fail "active: $(swan ike --list-sas)"
	matches "the attempt of the standby, and the passive IKE_SA" "$(swan ikec --list-sas --raw | grep -oE 'state=[A-Z]+ local-host' | sort | xargs)" \
		"state=CONNECTING local-host state=PASSIVE local-host"
	sed -i 's/start_action = start/start_action = trap/' "$lab_dir/swan-ikec/swanctl/swanctl.conf" # from its next start on
}

sequence() { ctl "$1" --json show sas | jq '[.[] | select(.direction == "out") | .sequence | tonumber] | max // 0'; }

# STANDBY ACTIVE: the standby has the SAs of the active one, and continues above its numbers.
is_ready() { agree none && [[ $(sequence "$1") -gt $(sequence "$2") ]]; }

# GATEWAY: kills culvertd and charon there.
both_kill()
{
	lab_kill "$1"
	ike_kill "${charon_of[$1]}"
}

# GATEWAY: starts them, as standby.
both_start()
{
	sed -i 's/{ name = "main"; addresses/{ name = "main"; role = "standby"; addresses/' "$lab_dir/$1.conf"
	lab_start "$1"
	ike_launch "${charon_of[$1]}"
}
