#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=rebind: margay-guest comes after the driver of the disk margay.disk=, does
# not go while that is bound, goes after, and comes again.
. /etc/profile
disk=$(sed -n 's/.*margay\.disk=\([a-z0-9]*\).*/\1/p' /proc/cmdline)
function=0000:00:06.0
sum() {
	for i in $(seq 60); do
		[ -b "/dev/$disk" ] && break
		sleep 1
	done
	echo "margay-step: $1 $(sha256sum "/dev/$disk" | cut -d ' ' -f 1)"
}
for driver in $(sed -n 's/.*margay\.drivers=\([a-z0-9_,]*\).*/\1/p' /proc/cmdline | tr , ' '); do
	modprobe "$driver"
done
modprobe margay-guest
sum late
rmmod margay_guest 2>/dev/null && echo "margay-step: removed" || echo "margay-step: remove busy"
sed 's/^/margay-step: functions /' /sys/kernel/margay/functions
driver=$(readlink -f "/sys/bus/pci/devices/$function/driver")
echo "$function" >"$driver/unbind"
sed 's/^/margay-step: functions /' /sys/kernel/margay/functions
echo "margay-step: unbound"
rmmod margay_guest && echo "margay-step: removed"
modprobe margay-guest
echo "$function" >"$driver/bind"
sum again
dmesg | grep -E 'ahci|ata[0-9]|margay' | sed 's/^/margay-dmesg: /'
echo "margay-test: done"
poweroff
