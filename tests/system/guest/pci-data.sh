#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=pci-data: loads the drivers that margay.drivers= names (a,b), and reports what lspci shows; then, with
# margay.megabytes=, what the network cards at the addresses of margay.net= (00:06.0,00:07.0) carried, and by how many
# interrupts. margay.disk=: the disks that must be there before.
. /etc/profile
argument() {
	sed -n "s/.*margay\.$1=\([a-z0-9_,.:]*\).*/\1/p" /proc/cmdline | tr , ' '
}
# Until a command succeeds, not for ever.
await() {
	for i in $(seq 60); do
		"$@" && return
		sleep 1
	done
}
carrier() {
	[ "$(cat "/sys/class/net/$1/carrier")" = 1 ]
}
for driver in $(argument drivers); do
	modprobe "$driver"
done
# A disk appears some time after its driver.
for disk in $(argument disk); do
	await [ -b "/dev/$disk" ]
done
lspci -nn -vvv 2>&1 | sed 's/^/margay-lspci: /'
lspci -xxxx 2>&1 | sed 's/^/margay-bytes: /'
megabytes=$(argument megabytes)
# The n-th card's network is 10.0.n+2.0/24: .100 sends, .101 receives; the other end closes.
n=2
for card in ${megabytes:+$(argument net)}; do
	net=$(ls "/sys/bus/pci/devices/0000:$card/net")
	echo "margay-test: net-$n: $net"
	echo "margay-test: reset-$n: $(echo 1 2>&1 >"/sys/bus/pci/devices/0000:$card/reset" && echo done)"
	ip addr add "10.0.$n.15/24" dev "$net"
	ip link set "$net" up
	await carrier "$net"
	# Its vectors wander from CPU to CPU until the file is gone.
	touch /tmp/wander
	while [ -e /tmp/wander ]; do
		for cpu in $(seq 0 $(($(nproc) - 1))); do
			for irq in $(sed -n "s/^ *\([0-9]*\): .*$net.*/\1/p" /proc/interrupts); do
				echo "$cpu" >"/proc/irq/$irq/smp_affinity_list"
			done
			usleep 20000
		done
	done &
	dd if=/dev/urandom of=/tmp/up bs=64k count=$((megabytes * 16)) 2>/dev/null
	echo "margay-test: down-$n: $(nc "10.0.$n.100" 80 </dev/null | sha256sum)"
	nc "10.0.$n.101" 80 </tmp/up
	echo "margay-test: up-$n: $(sha256sum </tmp/up)"
	rm /tmp/wander
	wait
	n=$((n + 1))
done
grep MSI /proc/interrupts | sed 's/^/margay-interrupt: /'
dmesg | grep -E 'pci|ahci|nvme|ata[0-9]|e1000e|igb' | sed 's/^/margay-dmesg: /'
echo "margay-test: done"
poweroff
