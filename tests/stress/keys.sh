# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Rekeys both gateways under traffic, make before break. To be sourced after lib.sh.
# shellcheck disable=SC2154 # lab_number and lab_dir are the laboratory's

# Indexed by number of the rekey and sending gateway.
declare -A key=()

# GATEWAY NUMBER: prints the name of the SA by which the gateway sends after rekey NUMBER.
sa_out()
{
	local here=${lab_number[$1]} there=${lab_number[${lab_peer[$1]}]}
	echo "{ name = \"out-$2\"; direction = \"out\"; spi = \"$((4096 * here + $2 % 2048))\";
		local = \"192.0.2.$here\"; remote = \"192.0.2.$there\";
		cipher = \"aes-128-gcm\"; cipher_key = \"${key[$2,$1]}\"; }"
}

sa_in()
{
	local here=${lab_number[$1]} there=${lab_number[${lab_peer[$1]}]}
	echo "{ name = \"in-$2\"; direction = \"in\"; spi = \"$((4096 * there + $2 % 2048))\";
		local = \"192.0.2.$here\"; remote = \"192.0.2.$there\"; replay_window = 1024;
		cipher = \"aes-128-gcm\"; cipher_key = \"${key[$2,${lab_peer[$1]}]}\"; }"
}

# GATEWAY OUT IN...: writes its configuration: sends by OUT, receives by all of IN.
configure()
{
	local g=$1 out=$2 i sas names=""
	local here=${lab_number[$g]} there=${lab_number[${lab_peer[$g]}]}
	shift 2
	sas=$(sa_out "$g" "$out")
	for i; do
		sas+=", $(sa_in "$g" "$i")"
		names+="${names:+, }\"in-$i\""
	done
	{
		sed '/^sas = (/,$d' "$lab_dir/$g.good"
		echo "sas = ( $sas );"
		echo "policies = (
			{ name = \"tunnel\"; local = \"10.$here.0.0/24\"; remote = \"10.$there.0.0/24\";
			  action = \"protect\"; out = \"out-$out\"; in = [ $names ]; },
			{ name = \"rest\"; action = \"discard\"; } );"
	} >"$lab_dir/$g.conf"
}

# GATEWAY ARGUMENT...: changes the running configuration without the file.
change()
{
	reloads[$1]=$((reloads[$1] + 1))
	matches "change of $1" "$(ctl "$@")" "^changed, generation $((reloads[$1] + 1)), revision [0-9]+$"
}

# OLD NEW: numbers of the keys.
rekey_by_files()
{
	local step gateway
	for step in "$1 $1 $2" "$2 $1 $2" "$2 $2"; do
		for gateway in a b; do
			# shellcheck disable=SC2086 # words
			configure $gateway $step
			reload_good $gateway
		done
	done
}

rekey_by_commands()
{
	local gateway
	for gateway in a b; do
		change $gateway sa add - <<<"$(sa_in $gateway "$2")"
		change $gateway policy set tunnel "in = [ \"in-$1\", \"in-$2\" ];"
	done
	for gateway in a b; do
		change $gateway --new-keys sa add - <<<"$(sa_out $gateway "$2")"
		change $gateway policy set tunnel "out = \"out-$2\";"
	done
	for gateway in a b; do
		change $gateway apply - <<-END
			policy set tunnel { in = "in-$2"; }
			sa del in-$1; sa del out-$1
		END
		configure $gateway "$2" "$2" # the file has them, too: a reload discards nothing
		reload_good $gateway
	done
}

new_keys()
{
	key[$1,a]=$(lab_random_hex 20)
	key[$1,b]=$(lab_random_hex 20)
}

# Starts both gateways with the first keys.
keys_begin()
{
	local gateway
	lab_config a b
	for gateway in a b; do
		cp "$lab_dir/$gateway.conf" "$lab_dir/$gateway.good"
	done
	new_keys 0
	configure a 0 0
	configure b 0 0
	lab_start a b
}

# NUMBER: replaces the keys by those of that number, by commands if it is even.
rekey()
{
	new_keys "$1"
	if (($1 % 2 == 0)); then
		rekey_by_commands $(($1 - 1)) "$1"
	else
		rekey_by_files $(($1 - 1)) "$1"
	fi
	unset "key[$(($1 - 1)),a]" "key[$(($1 - 1)),b]"
}
