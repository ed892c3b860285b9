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
qemu-system-x86_64 -accel kvm -cpu host -smp 1 -nodefaults -display none -serial stdio -no-reboot \
	-L /usr/share/seabios -L /usr/share/qemu "$@"
echo "margay-test: peer ended: $?"
poweroff -f
