#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# The KVM peer: this guest is a host, whose own guest runs in Debian's QEMU as
# /peer/arguments tells it.
export PATH=$PATH:/usr/bin
for module in irqbypass kvm ccp kvm-amd; do
	insmod /peer/$module.ko || echo "margay-test: failed: insmod $module"
done
cd /peer
eval "set -- $(cat arguments)"
available() { awk '/^MemAvailable/ { print $2 }' /proc/meminfo; }
# Where the guest has all its RAM from the beginning, what is missing at the worst moment is its cost.
case $* in
*-mem-prealloc*)
	echo "margay-test: host-present: $(dmesg | sed -n 's/.*Memory: [0-9]*K\/\([0-9]*\)K available.*/\1/p')"
	echo "margay-test: host-files: $(awk '/^(Unevictable|Shmem):/ { n += $2 } END { print n }' /proc/meminfo)"
	echo "margay-test: host-available: $(available)"
	while sleep 0.2; do available; done > /tmp/available &
	sampler=$!
	;;
esac
qemu-system-x86_64 -accel kvm -cpu host -smp 1 -nodefaults -display none -serial stdio -no-reboot \
	-L /usr/share/seabios -L /usr/share/qemu "$@"
echo "margay-test: peer ended: $?"
[ -z "$sampler" ] || { kill "$sampler"; echo "margay-test: host-least: $(sort -n /tmp/available | head -n 1)"; }
poweroff -f
