# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# For tests that install packages: a copy of this system in $work/root, as an overlay, in the caller's mount
# namespace. It has no configuration and no state of Culvert.

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# Makes $work, a folder in memory, which overlay_remove removes.
overlay_begin()
{
	work=$(mktemp -d /tmp/culvert-overlay.XXXXXX)
	mount -t tmpfs none "$work"
}

# Makes $work/root. No package may be installed on this system after that.
overlay_copy()
{
	mkdir "$work/upper" "$work/work" "$work/root"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root"
	mount -t tmpfs none "$work/root/run"
	# Records the requests of the package's scripts to systemd.
	mkdir -p "$work/root/run/systemd/system"
	rm -f "$work/root/bin/systemctl" "$work/root/usr/sbin/policy-rc.d" # which containers have
	printf '#!/bin/sh\necho "$@" >>/systemctl.log\n' >"$work/root/bin/systemctl"
	chmod 755 "$work/root/bin/systemctl"
	: >"$work/root/systemctl.log"
	rm -rf "$work/root/etc/culvert" "$work/root/var/lib/culvert"
}

overlay_remove()
{
	umount -l "$work"
	rmdir "$work"
}

# COMMAND...: runs it there.
inside()
{
	chroot "$work/root" "$@"
}

# Whether a script of the package has stopped the daemon.
stopped()
{
	grep -q '^.*stop.* culvertd\.service' "$work/root/systemctl.log"
}

# Prints checksums of the files that no package may change.
kept()
{
	(cd "$work/root" && sha256sum etc/culvert/culvert.conf var/lib/culvert/culvert.sequence)
}
