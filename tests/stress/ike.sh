# shellcheck shell=bash disable=SC2154 # variables of the laboratory
# SPDX-License-Identifier: BSD-3-Clause
# Shared by the stress tests of IKE: two gateways, each driven by a charon; the memory that they use, and that it does
# not grow. To be sourced after lib.sh.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/ike.sh"

declare -A used=() # by process, its use before: KB of memory, of the gateways also octets of heap and disk, policies

# WORDS WORDS: prints the ones that are in both.
common()
{
	comm -12 <(xargs -n 1 <<<"$1" | sort -u) <(xargs -n 1 <<<"$2" | sort -u)
}

# FOLDER-OR-FILE...: octets on the disk.
octets()
{
	du -sc --block-size=1 "$@" 2>/dev/null | tail -n 1 | cut -f 1
}

# The processes, and their ids.
processes()
{
	echo "culvertd-a ${lab_pid[a]} culvertd-b ${lab_pid[b]} charon-a ${ike_pid[ike]} charon-b ${ike_pid[ikeb]}" | xargs -n 2
}

# WHEN: prints and remembers it.
use()
{
	local name pid heap
	while read -r name pid; do
		used[$name,memory]=$(resident "$pid")
	done < <(processes)
	for g in a b; do
		used[$g,heap]=$(ctl $g --json show memory | jq '.[] | select(.memory == "heap") | .used')
		used[$g,disk]=$(octets "$lab_dir/state" /run/culvert/"$lab_id-$g".*)
		used[$g,policies]=$(ctl $g --json show policies | jq length)
	done
	echo "$1: resident culvertd ${used[culvertd-a,memory]} and ${used[culvertd-b,memory]} KB," \
		"charon ${used[charon-a,memory]} and ${used[charon-b,memory]} KB;" \
		"heap ${used[a,heap]} and ${used[b,heap]}, disk ${used[a,disk]} and ${used[b,disk]} octets"
}

# KB of memory by which a process may grow: one page of 2 MB, which the kernel gives where it can, and memory that the
# C library keeps for later, for each of charon's 16 threads.
declare -A growth_max=([culvertd]=3072 [charon]=4096)

# WHEN: prints the memory in use, which must be as much as before.
unchanged()
{
	local key
	local -A before=()
	for key in "${!used[@]}"; do
		before[$key]=${used[$key]}
	done
	use "$1"
	for key in "${!used[@]}"; do
		[[ $key == *,memory ]] || equal "$key $1" "${used[$key]}" "${before[$key]}"
		[[ $key != *,memory || ${used[$key]} -le $((${before[$key]} + ${growth_max[${key%%-*}]})) ]] ||
			fail "$key: ${before[$key]} KB have become ${used[$key]}"
	done
}
