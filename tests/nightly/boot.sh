# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# For tests of the service: a copy of this system in $root, as an overlay, under a systemd that is booted for it. The
# caller has a mount namespace of its own.

fail()
{
	echo "FAILED: $*" >&2
	inside journalctl --no-pager -n 40 >&2
	exit 1
}

# Makes $root, without a configuration, state or units of this machine. It is removed when the test ends.
boot_copy()
{
	work=$(mktemp -d /tmp/culvert-boot.XXXXXX)
	boot=""
	mount -t tmpfs none "$work"
	trap boot_end EXIT
	root=$work/root
	mkdir "$work/upper" "$work/work" "$root"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$root"
	rm -rf "$root/etc/culvert" "$root/var/lib/culvert" "$root/etc/systemd/system/"*
	tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
	mkdir -p "$root/etc/systemd/system/culvertd.service.d" "$root/etc/culvert"
}

boot_end()
{
	if [[ -n $boot ]]; then
		kill "$boot" || true
		wait "$boot" || true
	fi
	umount -l "$work"
	rmdir "$work"
}

boot_start()
{
	# Its console needs a terminal, and DPDK a list of modules.
	script -qec "systemd-nspawn -D $root --register=no --keep-unit --private-network --link-journal=no --bind-ro=/sys/module \
		-M culvert-test-$$ --boot -- --unit=multi-user.target" "$work/console" </dev/null >/dev/null &
	boot=$!
	poll 30 inside systemctl is-system-running --quiet || true
	poll 30 inside systemctl show culvertd || { cat "$work/console"; fail "systemd does not boot"; }
}

leader()
{
	pgrep -f "^/(usr/)?lib/systemd/systemd --unit=multi-user.target$" -n
}

inside()
{
	nsenter -t "$(leader)" -m -u -i -n -p -- "$@"
}

poll()
{
	local end=$((SECONDS + $1))
	until "${@:2}" >/dev/null 2>&1; do
		[[ $SECONDS -lt $end ]] || return 1
		sleep 0.1
	done
}

# The properties of the service in systemd.
property()
{
	inside systemctl show -P "$1" culvertd
}

# PATTERN COMMAND...: the output of the command in the container matches.
says()
{
	[[ $(inside "${@:2}") =~ $1 ]]
}

logged()
{
	says "$1" journalctl --no-pager -u culvertd
}

is()
{
	[[ $(property "$1") == "$2" ]] || fail "$1 is $(property "$1"), must be $2"
}
