#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the virtual machine, on its second root: vm_init.sh AGENT PORT.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mkdir /dev/hugepages
mount -t hugetlbfs hugepages /dev/hugepages
modprobe -a virtio_net e1000 e1000e vmxnet3 # nothing here loads drivers for new devices
ip link set lo up
ip link set eth0 up
ip address add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
exec "$1" serve "$2"
