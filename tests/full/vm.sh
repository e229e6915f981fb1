# shellcheck shell=bash disable=SC2154,SC2034 # variables of app/lab.sh, which the test includes
# SPDX-License-Identifier: BSD-3-Clause
# A virtual machine for the laboratory (app/lab.sh): QEMU with Debian's kernel. Its root is that of this machine, changes
# are lost; $lab_dir is shared. Commands run in it by vm_agent.py. Callers have sourced tests/e2e/lib.sh.

vm_folder=$lab_root/build-vm # kept: the kernel, and programs for the processor that QEMU emulates
vm_port=4503                 # of the agent, in the namespace of QEMU
lab_patience=600             # all processors are emulated
vm_ns=                       # that namespace: ga or ha
vm_agent=$lab_root/tests/full/vm_agent.py
vm_mac=52:54:00:00:00:0 # of the devices, less their number
declare -A vm_number=([management]=0 [lan]=1 [wan]=2 [station]=3 [spare]=4)

# Installs QEMU, and fetches Debian's kernel, which is not installed here; else the test is skipped.
vm_need()
{
	local package=
	[[ $(dpkg --print-architecture) == amd64 ]] || vm_skip "the machine is for x86"
	"$lab_root/app/packages" vm || vm_skip "no QEMU"
	if [[ ! -d $vm_folder/kernel ]]; then
		apt-get -qq -o DPkg::Lock::Timeout=300 update || true
		package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p') || vm_skip "no kernel: apt-cache finds no linux-image-amd64"
		mkdir -p "$lab_dir/fetch"
		(cd "$lab_dir/fetch" && apt-get -qq -o APT::Sandbox::User=root download "$package") || vm_skip "no kernel: apt-get cannot fetch linux-image-amd64"
		dpkg-deb -x "$lab_dir/fetch/"*.deb "$lab_dir/fetch/kernel"
		[[ -e $lab_dir/fetch/kernel/lib ]] || ln -s usr/lib "$lab_dir/fetch/kernel/lib" # Debian 13
		vm_release=$(ls "$lab_dir/fetch/kernel/lib/modules")
		depmod -b "$lab_dir/fetch/kernel" "$vm_release"
		mkdir -p "$vm_folder"
		mv "$lab_dir/fetch/kernel" "$vm_folder/kernel"
	fi
	vm_release=$(ls "$vm_folder/kernel/lib/modules")
	vm_build
	vm_initrd
}

vm_skip()
{
	echo "skipped: $1"
	exit 77
}

# The programs, built for the processor that QEMU emulates, which lacks AVX-512. They are slow there anyway.
vm_build()
{
	lab_build=$vm_folder/build
	[[ -e $lab_build/build.ninja ]] || meson setup -Dmarch=x86-64-v3 -Doptimization=1 "$lab_build" "$lab_root" >"$lab_dir/build" ||
		fail "$(<"$lab_dir/build")"
	ninja -C "$lab_build" app/culvertd/culvertd app/culvertctl/culvertctl >"$lab_dir/build" || fail "$(tail "$lab_dir/build")"
}

# The first file system: it mounts the second one.
vm_initrd()
{
	local root=$lab_dir/initrd program file
	mkdir -p "$root"/{dev,proc,sys,run,host,changes,root,copies}
	for program in sh mount mkdir insmod switch_root cp; do
		program=$(command -v "$program")
		for file in "$program" $(ldd "$program" | grep -o '/[^ ]*'); do
			install -D "$file" "$root/$file"
		done
	done
	vm_files | xargs cp --parents -t "$root/copies"
	cat >"$root/init" <<-END
		#!$(command -v sh)
		export PATH=$PATH
		mount -t devtmpfs dev /dev
		mount -t proc proc /proc
		mount -t sysfs sys /sys
		mount -t tmpfs run /run
		$(vm_initrd_modules "$root" virtio_pci 9pnet_virtio 9p overlay)
		mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose host /host
		mount -t tmpfs changes /changes
		cp -r /copies /changes/upper
		mkdir /changes/work
		mount -t overlay -o lowerdir=/host,upperdir=/changes/upper,workdir=/changes/work root /root
		mkdir -p /root/usr/lib/modules /root$lab_dir
		mount --bind /root$vm_folder/kernel/lib/modules /root/usr/lib/modules
		mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 lab /root$lab_dir
		exec switch_root /root $BASH $lab_root/tests/full/vm_init.sh $vm_agent $vm_port
	END
	chmod 755 "$root/init"
	(cd "$root" && find . | cpio -o -H newc --quiet) >"$lab_dir/initrd.cpio"
}

# Prints the files that each start of the gateway opens: the programs, their libraries, all drivers. Several requests for
# each of them over 9p would take a minute, so that the machine has copies in its memory.
vm_files()
{
	ldd "$lab_build"/app/culvert{d/culvertd,ctl/culvertctl} "$(pkg-config --variable=libdir libdpdk)"/dpdk/pmds-*/*.so.* |
		grep -o '/[^ ]*[^ :]' | xargs realpath | sort -u
}

# FOLDER MODULE...: copies the modules, and prints commands that load them.
vm_initrd_modules()
{
	local file
	modprobe -d "$vm_folder/kernel" -S "$vm_release" --show-depends -a "${@:2}" | awk '/^insmod/ && !seen[$2]++ { print $2 }' |
		while read -r file; do
			cp "$file" "$1"
			echo "insmod /${file##*/}"
		done
}

# NAMESPACE OPTIONS ARGUMENT...: starts the machine in it, with further arguments of QEMU; options of its own virtio devices.
vm_start()
{
	local dma=$2
	vm_ns=$1
	: >"$lab_dir/vm-console"
	spawn "$vm_ns" qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -accel tcg,thread=multi -cpu max \
		-smp 2 -m 2G -kernel "$vm_folder/kernel/boot/vmlinuz-$vm_release" -initrd "$lab_dir/initrd.cpio" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off rcupdate.rcu_cpu_stall_suppress=1 nowatchdog intel_iommu=on" -serial "file:$lab_dir/vm-console" \
		-monitor "unix:$lab_dir/vm-monitor,server=on,wait=off" \
		-fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
		-device "virtio-9p-pci,fsdev=host,mount_tag=host$dma" \
		-fsdev "local,id=lab,path=$lab_dir,security_model=none" -device "virtio-9p-pci,fsdev=lab,mount_tag=lab$dma" \
		-netdev "user,id=management,restrict=on,hostfwd=tcp:127.0.0.1:$vm_port-:$vm_port" \
		-device "virtio-net-pci,netdev=management,mac=$vm_mac${vm_number[management]}$dma" "${@:3}" </dev/null >"$lab_dir/vm-log" 2>&1
	vm_pid=$!
	poll vm_started || fail "the virtual machine does not start"
	grep -q "agent: ready" "$lab_dir/vm-console" || fail "the virtual machine did not stay: $(cat "$lab_dir/vm-log" "$lab_dir/vm-console")"
}

vm_started()
{
	grep -q "agent: ready" "$lab_dir/vm-console" || lab_gone "$vm_pid"
}

# COMMAND...: runs it in the machine.
vm()
{
	on "$vm_ns" "$vm_agent" run "$vm_port" "$@"
}

# PATTERN: prints the matches in docs/hardware.md, whose continued lines are one, so that its commands are tested.
vm_documented()
{
	local words
	words=$(sed ':a; /\\$/ { N; s/ *\\\n */ /; ba }' "$lab_root/docs/hardware.md" | grep -oE -- "$1") ||
		fail "docs/hardware.md has no '$1'"
	head -n 1 <<<"$words"
}

# COMMAND: of QEMU's monitor.
vm_monitor()
{
	local said
	said=$(vm_ask "$@")
	! grep -q '^Error' <<<"$said" || fail "QEMU: $*: $said"
}

# The same, and prints the answer.
vm_ask()
{
	echo "$*" | socat -t 10 - "UNIX-CONNECT:$lab_dir/vm-monitor" | tr -d '\r'
}

# NAME BRIDGE QUEUES OPTIONS: gives the machine a device, whose other end is in the bridge.
vm_plug()
{
	vm_monitor netdev_add "tap,id=$1,ifname=tap-$1,script=no,downscript=no,queues=$3"
	ip -n "$lab_id-$vm_ns" link set "tap-$1" master "$2" mtu 9000 up
	vm_monitor device_add "$4,id=$1,mac=$vm_mac${vm_number[$1]}"
}

# NAME: waits until a device that was deleted is released by the machine, and removes its other end.
vm_gone()
{
	poll vm_unplugged "$1" || fail "the machine does not release device $1"
	vm_monitor netdev_del "$1"
}

vm_unplugged()
{
	local devices
	devices=$(vm_ask info qtree)
	! grep -q "id \"$1\"" <<<"$devices"
}

# NAME: prints the interface of a device, once the kernel in the machine has it.
vm_interface()
{
	vm sh -c "grep -lx '$vm_mac${vm_number[$1]}' /sys/class/net/*/address" | cut -d / -f 5 | grep .
}

vm_stop()
{
	kill -TERM "$vm_pid"
	wait "$vm_pid" || fail "QEMU: $(<"$lab_dir/vm-log")"
}
