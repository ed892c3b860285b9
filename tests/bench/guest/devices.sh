#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# Loads of a disk and of two network cards, each the other's only peer, the second in a network namespace of its own; in the
# order of bench.py's DEVICES, margay.megabytes= each. Natively there is no margay-guest.
. /etc/profile
modprobe margay-guest 2>/dev/null
for driver in nvme e1000e igb; do
	modprobe $driver
done
echo "margay-test: dma: $(cat /sys/kernel/margay/dma 2>/dev/null || echo native)"
megabytes=$(sed -n 's/.*margay\.megabytes=\([0-9]*\).*/\1/p' /proc/cmdline)
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
dd if=/dev/zero of=/tmp/data bs=1M count="$megabytes" 2>/dev/null
httpd -h /tmp
$other httpd -h /tmp
blocks="bs=64k count=$((megabytes * 16))"
# shellcheck disable=SC2086 # two words
for load in "dd if=/dev/nvme0n1 of=/dev/null $blocks" "dd if=/dev/zero of=/dev/nvme0n1 conv=fsync $blocks" \
	"wget -q -O /dev/null http://10.0.0.2/data" "$other wget -q -O /dev/null http://10.0.0.1/data"; do
	sleep 1
	mark 1
	$load 2>/dev/null || poweroff -f
	mark 2
done
echo "margay-test: done"
poweroff -f
