# shellcheck shell=bash disable=SC2154 # variables of app/lab.sh, which the tests include
# SPDX-License-Identifier: BSD-3-Clause
# Shared by tests that run a tutorial of docs/ literally: its commands, in its order, on the machines that it names.
# Each gateway has mounts of its own: Culvert is installed there, and its /etc/culvert is $lab_dir/a or $lab_dir/b.
#
# A block "sh" names its machines in its first line. If a block "text" follows, the commands are repeated until they print
# that text; numbers may differ.

declare -A page_gateway=([A]=a [B]=b) # by the name in the page
declare -A page_machine=()            # by gateway, a process with its mounts
declare -A page_before=()             # by the number of a block, a function that is called before its commands

# Commands of the pages that need another machine, or systemd.
page_commands()
{
	local name
	mkdir "$lab_dir/bin"
	for name in "${!page_gateway[@]}"; do
		ln -s "${page_gateway[$name]}" "$lab_dir/gateway-${name,,}:"
	done
	# scp FILE... gateway-b:/etc/culvert/
	cat >"$lab_dir/bin/scp" <<-END
		#!/bin/bash -e
		to=\${*: -1}
		cp "\${@:1:\$#-1}" "$lab_dir/\${to%/etc/culvert/}/"
	END
	cat >"$lab_dir/bin/systemctl" <<-'END'
		#!/bin/bash -e
		case $* in
		"enable --now culvertd")
			setsid bash -c 'exec -a "/usr/sbin/culvertd-$0" culvertd -c /etc/culvert/culvert.conf' "$page_here" \
				</dev/null >/etc/culvert/log 2>&1 &
			echo $! >/etc/culvert/pid
			for ((i = 0; i < 600; i++)); do
				! grep -q ' culvertd: ready' /etc/culvert/log || exit 0
				sleep 0.05
			done
			cat /etc/culvert/log
			exit 1
			;;
		"kill --signal=KILL culvertd")
			kill -KILL "$(</etc/culvert/pid)"
			sleep 2 # RestartSec
			exec "$0" enable --now culvertd
			;;
		"restart culvertd")
			kill "$(</etc/culvert/pid)"
			tail --pid="$(</etc/culvert/pid)" -f /dev/null
			exec "$0" enable --now culvertd
			;;
		"stop etcd") ;; # Debian's package has started it, which is not installed here
		"start --no-block etcd")
			install -d -o etcd -g etcd /var/lib/etcd
			export ETCD_DATA_DIR=/var/lib/etcd/default
			set -a
			. /etc/default/etcd
			setsid nice -n -10 setpriv --reuid etcd --regid etcd --clear-groups etcd \
				</dev/null >/etc/culvert/etcd.log 2>&1 &
			echo $! >/etc/culvert/etcd.pid
			;;
		"enable --now keepalived")
			# The kernel reports ended processes in the first network namespace alone. keepalived finds the daemon by
			# its command line, which is the same on all machines. A machine that has other things to do may be late by
			# tenths of a second: the gateway that was active would be so again.
			sed -i -e '1i net_namespace page' -e "s|process /usr/sbin/culvertd|&-$page_here|" \
				-e 's|advert_int 0.1|advert_int 1|' /etc/keepalived/keepalived.conf
			setsid nice -n -10 nsenter --net="/proc/$page_test/ns/net" keepalived -n -l -D \
				</dev/null >/etc/culvert/keepalived.log 2>&1 &
			echo $! >/etc/culvert/keepalived.pid
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
		"reload ssh") ;;
		*)
			exit 1
			;;
		esac
	END
	# The package that it installs is the same.
	printf '#!/bin/bash\n[[ $* == "install -y "*.deb ]]\n' >"$lab_dir/bin/apt-get"
	chmod 755 "$lab_dir/bin"/*
}

# GATEWAY: makes a process whose mounts are the gateway's.
page_machine_start()
{
	mkdir "$lab_dir/$1"
	ip netns exec "$lab_id-g$1" unshare --mount bash -ec "
		mount -t tmpfs none /mnt
		for folder in etc usr; do
			mkdir /mnt/\$folder /mnt/\$folder.work
			mount -t overlay overlay -o lowerdir=/\$folder,upperdir=/mnt/\$folder,workdir=/mnt/\$folder.work /\$folder
		done
		mkdir -p /etc/culvert /usr/share/doc/culvert/examples
		ln -s '$culvertd' /usr/sbin/culvertd
		ln -s '$culvertctl' /usr/bin/culvertctl
		cp '$lab_root'/conf/keepalived/* /usr/share/doc/culvert/examples
		mount --bind '$lab_dir/$1' /etc/culvert
		mount -t tmpfs none /var/lib
		mount -t tmpfs none /run
		mkdir /run/netns
		touch /run/netns/page
		mount --bind /proc/self/ns/net /run/netns/page
		touch /etc/culvert/mounted
		exec sleep infinity" &
	page_machine[$1]=$!
	poll test -e "$lab_dir/$1/mounted" || fail "no mounts for gateway $1"
}

# GATEWAY: runs the commands on standard input there, in the folder that the first of them go to.
on_gateway()
{
	(echo cd /etc/culvert && cat) | PATH=$lab_dir/bin:$PATH page_here=$1 page_test=$$ \
		nsenter --target "${page_machine[$1]}" --mount --net bash -euo pipefail -s
}

page_machines_stop()
{
	local g file pid
	for g in "${!page_machine[@]}"; do
		for file in keepalived.pid pid etcd.pid; do
			[[ -e $lab_dir/$g/$file ]] || continue
			pid=$(<"$lab_dir/$g/$file")
			kill "$pid" 2>/dev/null || true
			poll lab_gone "$pid"
		done
		kill "${page_machine[$g]}" 2>/dev/null || true
	done
}

# PAGE NUMBER: the commands of the n-th block; fails if there are no more.
page_block()
{
	awk -v n="$2" '/^```sh$/ { i++; next } /^```$/ { inside = 0 } i == n && !over { inside = 1 }
		i == n && /^```$/ { over = 1; inside = 0 } inside { print; found = 1 } END { exit !found }' "$1"
}

# PAGE NUMBER: the output of the n-th block of commands, if the page has it.
page_output()
{
	awk -v n="$2" '/^```/ { inside = $0 == "```text" } /^```sh$/ { i++ } i == n && inside && !/^```/' "$1"
}

# Numbers and versions, but not addresses, may differ; so the columns do.
page_plain()
{
	awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+(\.[0-9]+\.[0-9]+(~.*)?)?$/) $i = "N"; $1 = $1 } 1'
}

# NAME COMMANDS: runs them on the machine that has this name in the page.
page_on()
{
	case $1 in
	"a host of A") on ha bash -euo pipefail -s <<<"$2" ;;
	"a host of A, in another terminal") spawn ha bash -euo pipefail -c "$2" >"$lab_dir/terminal" ;;
	*) on_gateway "${page_gateway[$1]-}" <<<"$2" ;;
	esac
}

# NAME COMMANDS OUTPUT
page_prints()
{
	page_said=$(page_on "$1" "$2") && [[ $(page_plain <<<"$page_said") == "$(page_plain <<<"$3")" ]]
}

# PAGE BLOCKS: runs all of its blocks, which are that many.
page_run()
{
	local n commands output where names g
	for g in "${page_gateway[@]}"; do
		# As a machine is before: addresses of the kernel's, and offloads.
		on "g$g" ethtool -K lan0 rx on tx on sg on tso on gso on gro on >/dev/null
		on "g$g" ethtool -K wan0 rx on tx on sg on tso on gso on gro on >/dev/null
		ip -n "$lab_id-g$g" address add "10.${lab_number[$g]}.0.1/24" dev lan0
	done
	page_commands
	lab_undo+=(page_machines_stop)
	for g in "${page_gateway[@]}"; do
		page_machine_start "$g"
	done
	for ((n = 1; ; n++)); do
		commands=$(page_block "$1" $n) || break
		output=$(page_output "$1" $n)
		${page_before[$n]-}
		echo "== $commands"
		where=${commands%%$'\n'*}
		mapfile -t names <<<"${where//, on /$'\n# on '}"
		for where in "${names[@]#\# on }"; do
			if [[ -z $output ]]; then
				page_on "$where" "$commands" || fail "block $n, on $where: status $?"
			else
				poll page_prints "$where" "$commands" "$output" || fail "block $n, on $where: $page_said"
				echo "$page_said"
			fi
		done
	done
	equal "blocks" $((n - 1)) "$2"
}
