#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# The KVM peer: this guest is a host, whose own guest runs in Debian's QEMU as
# /peer/arguments tells it.
export PATH=$PATH:/usr/bin
for module in irqbypass kvm ccp kvm-amd; do
	insmod /peer/$module.ko || echo "margay-test: failed: insmod $module"
done
for bug in /sys/devices/system/cpu/vulnerabilities/*; do
	echo "margay-test: ${bug##*/}: $(cat "$bug")"
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
# Two vCPUs get a CPU each, so that what one of them causes is counted there, and all else the first: QEMU's other threads, this
# script. Waiting for work by polling would be counted as work.
pin() {
	for thread in /proc/"$(pidof qemu-system-x86_64)"/task/*; do
		read -r name < "$thread/comm"
		case $name in
		"CPU 0/KVM") taskset -p 2 "${thread##*/}" ;;
		"CPU 1/KVM") taskset -p 4 "${thread##*/}" ;;
		esac
	done
}
case $* in
*"-smp 2"*)
	echo 0 > /sys/module/kvm/parameters/halt_poll_ns
	taskset -p 1 $$ > /dev/null
	(
		until [ "$(pin 2> /dev/null | grep -c 'new affinity')" = 2 ]; do
			sleep 0.05
		done
		echo "margay-test: vCPUs are pinned"
	) &
	;;
esac
start() {
	qemu-system-x86_64 -accel kvm -cpu host -nodefaults -display none -serial stdio -no-reboot \
		-L /usr/share/seabios -L /usr/share/qemu "$@"
}
# A second guest, on a network with the first one: a bridge, and what vhost has for each. Each guest has a CPU, and no one polls.
if [ -f arguments2 ]; then
	for module in $(cat network); do
		insmod "/peer/$module.ko" || echo "margay-test: failed: insmod $module"
	done
	echo 0 > /sys/module/kvm/parameters/halt_poll_ns
	brctl addbr br0
	ip link set br0 up
	for tap in tap1 tap2; do
		tunctl -t $tap > /dev/null
		brctl addif br0 $tap
		ip link set $tap up
	done
	taskset -p 2 $$ > /dev/null
	(eval "set -- $(cat arguments2)" && start "$@" > /dev/null) &
	taskset -p 1 $$ > /dev/null
fi
start "$@"
echo "margay-test: peer ended: $?"
[ -z "$sampler" ] || { kill "$sampler"; echo "margay-test: host-least: $(sort -n /tmp/available | head -n 1)"; }
poweroff -f
