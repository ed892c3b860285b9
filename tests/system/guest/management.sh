#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=management: the management VM. What it does is its test's: /management/script, which
# another archive brings.
. /etc/profile
report() { echo "margay-test: $1: $2"; }
modprobe virtio_pci
# Some kernels have the driver built in.
if [ -d /sys/class/virtio-ports ]; then report unloaded "built in"; else report unloaded "$(margay list 2>&1)"; fi
modprobe virtio_console
for i in $(seq 100); do
	[ -e /sys/class/virtio-ports/vport0p3/name ] && break
	[ -e /sys/class/virtio-ports/vport1p3/name ] && break
	sleep 0.1
done
cd /management && . ./script
echo "margay-test: done"
poweroff
