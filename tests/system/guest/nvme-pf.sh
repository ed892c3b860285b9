#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=nvme-pf margay.vfs=N: has an nvme at 00:06.0, switches N virtual functions on and brings the secondary controllers 1
# to N online, with two queues and an interrupt each; then it does nothing.
. /etc/profile
vfs=$(sed -n 's/.*margay\.vfs=\([0-9]*\).*/\1/p' /proc/cmdline)
modprobe nvme
for i in $(seq 60); do
	[ -c /dev/nvme0 ] && break
	sleep 1
done
echo "$vfs" >/sys/bus/pci/devices/0000:00:06.0/sriov_numvfs
for controller in $(seq "$vfs"); do
	virt_mgmt /dev/nvme0 "$controller" 2 2
done
echo "margay-test: on: $(cat /sys/bus/pci/devices/0000:00:06.0/sriov_numvfs)"
while true; do sleep 1000; done
