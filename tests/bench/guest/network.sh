#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# To be sourced: a disk, and two network cards, each the other's only peer, the second in a network namespace of its own, in which
# $other runs a command. Natively there is no margay-guest.
. /etc/profile
modprobe margay-guest 2>/dev/null
for driver in nvme e1000e igb; do
	modprobe $driver
done
echo "margay-test: dma: $(cat /sys/kernel/margay/dma 2>/dev/null || echo native)"
await() {
	for i in $(seq 60); do
		"$@" >/dev/null 2>&1 && return
		sleep 1
	done
	poweroff -f
}
unshare -n sleep 100000 &
peer=$!
in_namespace() {
	[ "$(readlink /proc/$peer/ns/net)" != "$(readlink /proc/self/ns/net)" ]
}
await in_namespace
await ip link set eth1 netns $peer
other="nsenter -t $peer -n"
ip addr add 10.0.0.1/24 dev eth0
ip link set eth0 up
$other ip addr add 10.0.0.2/24 dev eth1
$other ip link set eth1 up
await ping -c 1 -W 1 10.0.0.2
await [ -b /dev/nvme0n1 ]
