# shellcheck shell=bash disable=SC2154 # variables of app/lab.sh, which the tests include
# SPDX-License-Identifier: BSD-3-Clause
# Shared by tests that run a tutorial of docs/ literally: its commands, in its order, on the machines that it names.
# Each gateway has mounts of its own, for /etc and the daemons' state; its /etc/culvert is $lab_dir/a or $lab_dir/b.

declare -A page_machine=() # by gateway, a process with its mounts

# Commands of the pages that need another machine, or systemd.
page_commands()
{
	mkdir "$lab_dir/bin"
	ln -s "$lab_build/app/culvertd/culvertd" "$lab_build/app/culvertctl/culvertctl" "$lab_dir/bin"
	# scp FILE... gateway-b:/etc/culvert/
	cat >"$lab_dir/bin/scp" <<-END
		#!/bin/bash -e
		[[ \${*: -1} == gateway-b:/etc/culvert/ ]]
		cp "\${@:1:\$#-1}" "$lab_dir/b"
	END
	cat >"$lab_dir/bin/systemctl" <<-'END'
		#!/bin/bash -e
		case $* in
		"enable --now culvertd")
			setsid culvertd -c /etc/culvert/culvert.conf </dev/null >/etc/culvert/log 2>&1 &
			echo $! >/etc/culvert/pid
			for ((i = 0; i < 600; i++)); do
				! grep -q ' culvertd: ready' /etc/culvert/log || exit 0
				sleep 0.05
			done
			cat /etc/culvert/log
			exit 1
			;;
		"restart frr")
			install -d -o frr -g frr /run/frr
			/usr/lib/frr/zebra -d -P 0
			for daemon in $(sed -n 's/^\([a-z0-9]*\)=yes$/\1/p' /etc/frr/daemons); do
				"/usr/lib/frr/$daemon" -d -P 0
			done
			vtysh -b
			;;
		"restart bird")
			install -d -o bird -g bird /run/bird
			bird -u bird -g bird
			;;
		*)
			exit 1
			;;
		esac
	END
	chmod 755 "$lab_dir/bin/scp" "$lab_dir/bin/systemctl"
}

# GATEWAY: makes a process whose mounts are the gateway's.
page_machine_start()
{
	mkdir "$lab_dir/$1"
	ip netns exec "$lab_id-g$1" unshare --mount bash -ec "
		mount -t tmpfs none /mnt
		mkdir /mnt/upper /mnt/work
		mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work /etc
		mkdir -p /etc/culvert
		mount --bind '$lab_dir/$1' /etc/culvert
		mount -t tmpfs none /var/lib
		mount -t tmpfs none /run
		touch /etc/culvert/mounted
		exec sleep infinity" &
	page_machine[$1]=$!
	poll test -e "$lab_dir/$1/mounted" || fail "no mounts for gateway $1"
}

# GATEWAY: runs the commands on standard input there, in the folder that the first of them go to.
on_gateway()
{
	(echo cd /etc/culvert && cat) | PATH=$lab_dir/bin:$PATH nsenter --target "${page_machine[$1]}" --mount --net bash -euo pipefail -s
}

page_machines_stop()
{
	local g
	for g in "${!page_machine[@]}"; do
		[[ ! -e $lab_dir/$g/pid ]] || kill "$(<"$lab_dir/$g/pid")" 2>/dev/null || true
		kill "${page_machine[$g]}" 2>/dev/null || true
	done
}

# PAGE NUMBER: the commands of the n-th block; fails if there are no more.
page_block()
{
	awk -v n="$2" '/^```sh$/ { i++; next } /^```$/ { inside = 0 } i == n && !over { inside = 1 }
		i == n && /^```$/ { over = 1; inside = 0 } inside { print; found = 1 } END { exit !found }' "$1"
}

# PAGE BLOCKS: runs all of its blocks, which are that many.
page_run()
{
	local n commands where g
	for g in a b; do
		# As a machine is before: addresses of the kernel's, and offloads.
		on g$g ethtool -K lan0 rx on tx on sg on tso on gso on gro on >/dev/null
		on g$g ethtool -K wan0 rx on tx on sg on tso on gso on gro on >/dev/null
		ip -n "$lab_id-g$g" address add "10.${lab_number[$g]}.0.1/24" dev lan0
	done
	page_commands
	lab_undo+=(page_machines_stop)
	page_machine_start a
	page_machine_start b
	for ((n = 1; ; n++)); do
		commands=$(page_block "$1" $n) || break
		where=${commands%%$'\n'*}
		echo "== $commands"
		case $where in
		"# on A, on B") on_gateway a <<<"$commands" && on_gateway b <<<"$commands" ;;
		"# on A") on_gateway a <<<"$commands" ;;
		"# on B") on_gateway b <<<"$commands" ;;
		"# on a host of A") on ha bash -euo pipefail -s <<<"$commands" ;;
		*) fail "nobody runs: $where" ;;
		esac || fail "block $n: status $?"
	done
	equal "blocks" $((n - 1)) "$2"
}
