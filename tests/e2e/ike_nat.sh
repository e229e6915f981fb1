# shellcheck shell=bash disable=SC2154 # variables of app/lab.sh, which the tests include
# SPDX-License-Identifier: BSD-3-Clause
# A peer with strongSwan's own ESP, gateway A's place, behind a NAT whose mapping changes under traffic, for the tests that
# source this. They start gateway B, and a charon that drives it.
. "${BASH_SOURCE[0]%/*}/nat.sh"
. "${BASH_SOURCE[0]%/*}/ike.sh"

# The networks, and the peer's.
ike_nat_up()
{
	ike_need
	nat_up
	ike_kernel_peer a
	ip -n "$lab_id-ga" route add default via 192.0.2.254
}

# NAMESPACE: of gateway B's charon. Establishes the tunnel.
ike_nat_initiate()
{
	ike_more="keep_alive = 1"
	ike_start ga
	ike_load "$1" site "$public.2" %any 10.2.0.0/24 10.1.0.0/24
	ike_load ga site 192.0.2.1 "$public.2" 10.1.0.0/24 10.2.0.0/24
	echo "--- a tunnel through the NAT"
	ike_initiate ga
	pings ha 10.2.0.2
	pings hb 10.1.0.2
	same_spis "$1" b
}

# NAMESPACE ADDRESS PORTS, patterns: of the peer, for both SAs and for charon there.
peer_is()
{
	[[ $(ctl b --json show sas | jq -r 'map("\(.direction) \(.remote):\(.remote_port // "")") | sort | join(" ")') =~ ^in\ $2:[0-9]*\ out\ $2:$3$ ]] &&
		swan "$1" --list-sas --raw | grep -qE "remote-host=$2 remote-port=$3 "
}

keepalives()
{
	[[ $(lab_total b keepalives_in) -ge 2 ]]
}

# NAMESPACE: the tunnel survives that the NAT takes other ports and another address, and a rekey.
ike_nat_follow()
{
	local spis
	peer_is "$1" "$public\.1" '1[0-9]{3}' || fail "the peer is at $(ctl b show sas)"
	poll keepalives || fail "no keepalives arrive"
	spis=$(ike_spis "$1")
	echo "--- another port and address"
	masquerade 20000-20999
	few_lost readdress 1 3
	poll peer_is "$1" "$public\.3" '20[0-9]{3}' || fail "the peer is at $(ctl b show sas) and $(swan "$1" --list-sas)"
	pings hb 10.1.0.2
	echo "--- another port"
	masquerade 30000-30999
	few_lost readdress 3 3
	poll peer_is "$1" "$public\.3" '30[0-9]{3}' || fail "the peer is at $(ctl b show sas) and $(swan "$1" --list-sas)"
	pings hb 10.1.0.2
	equal "SPIs" "$(ike_spis "$1")" "$spis"
	echo "--- IKE finds the peer"
	ike_rekey "$1" "$1" b
	pings ha 10.2.0.2
	peer_is "$1" "$public\.3" '30[0-9]{3}' || fail "the peer is at $(ctl b show sas)"
}
