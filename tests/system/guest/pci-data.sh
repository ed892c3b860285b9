#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=pci-data: loads the drivers that margay.drivers= names (a,b), and reports what lspci shows; then, with
# margay.megabytes=D:N, what the disks margay.disk= held, what came back from file systems of D MiB of data that it makes
# on them, what the network cards at the addresses of margay.net= (00:06.0,00:07.0) carried, N MiB each way, and by how many
# interrupts. margay.guest=yes: first the module for DMA windows. margay.bar=ADDRESS:BAR:OFFSET...: of that BAR, mapped with
# write-combining, what is at these offsets.
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
# The vectors of that name wander from CPU to CPU until rest.
wander() {
	touch /tmp/wander
	while [ -e /tmp/wander ]; do
		for cpu in $(seq 0 $(($(nproc) - 1))); do
			for irq in $(sed -n "s/^ *\([0-9]*\): .*$1.*/\1/p" /proc/interrupts); do
				# Those of nvme's queues are the kernel's own to place.
				echo "$cpu" 2>/dev/null >"/proc/irq/$irq/smp_affinity_list"
			done
			usleep 100000
		done
	done &
}
rest() {
	rm /tmp/wander
	wait
}
case $(argument guest) in
yes) modprobe margay-guest || echo "margay-test: guest: failed" ;;
esac
for driver in $(argument drivers); do
	modprobe "$driver"
done
# A disk appears some time after its driver.
for disk in $(argument disk); do
	await [ -b "/dev/$disk" ]
done
lspci -nn -vvv 2>&1 | sed 's/^/margay-lspci: /'
lspci -xxxx 2>&1 | sed 's/^/margay-bytes: /'
# shellcheck disable=SC2046 # two numbers
set -- $(argument megabytes | tr : ' ')
disk_megabytes=${1:-} net_megabytes=${2:-}
mkdir -p /mnt
for disk in ${disk_megabytes:+$(argument disk)}; do
	wander "\(nvme\|ahci\)"
	echo "margay-test: sum-$disk: $(sha256sum <"/dev/$disk")"
	# By its path, for busybox' shell has one of its own.
	/bin/mke2fs -q -F -t ext4 "/dev/$disk" && mount -t ext4 "/dev/$disk" /mnt
	dd if=/dev/urandom of=/mnt/data bs=64k count=$((disk_megabytes * 16)) 2>/dev/null
	echo "margay-test: wrote-$disk: $(sha256sum </mnt/data)"
	umount /mnt
	sync
	echo 3 >/proc/sys/vm/drop_caches
	# A reset in between, where the device has one: its driver goes on afterwards.
	reset=/sys/class/nvme/${disk%n1}/device/reset
	[ -e "$reset" ] && echo "margay-test: reset-$disk: $(echo 1 2>&1 >"$reset" && echo done)"
	mount -t ext4 -o ro "/dev/$disk" /mnt
	echo "margay-test: read-$disk: $(sha256sum </mnt/data)"
	umount /mnt
	rest
done
# The n-th card's network is 10.0.n+2.0/24: .100 sends, .101 receives; the other end closes.
n=2
for card in ${net_megabytes:+$(argument net)}; do
	net=$(ls "/sys/bus/pci/devices/0000:$card/net")
	echo "margay-test: net-$n: $net"
	echo "margay-test: reset-$n: $(echo 1 2>&1 >"/sys/bus/pci/devices/0000:$card/reset" && echo done)"
	ip addr add "10.0.$n.15/24" dev "$net"
	ip link set "$net" up
	await carrier "$net"
	wander "$net"
	dd if=/dev/urandom of=/tmp/up bs=64k count=$((net_megabytes * 16)) 2>/dev/null
	echo "margay-test: down-$n: $(nc "10.0.$n.100" 80 </dev/null | sha256sum)"
	nc "10.0.$n.101" 80 </tmp/up
	echo "margay-test: up-$n: $(sha256sum </tmp/up)"
	rest
	n=$((n + 1))
done
# shellcheck disable=SC2046 # an address, a number, offsets
set -- $(sed -n 's/.*margay\.bar=\([0-9a-fx.]*:[^ ]*\).*/\1/p' /proc/cmdline | sed 's/\(\.[0-7]\):/\1 /; s/:\(0x\)/ \1/g')
if [ $# -gt 2 ]; then
	device=/sys/bus/pci/devices/0000:$1 bar=$2
	shift 2
	echo 1 >"$device/enable"
	mount -t debugfs debugfs /sys/kernel/debug
	bar "$device/resource${bar}_wc" "$@"
fi
for rom in /sys/bus/pci/devices/*/rom; do
	device=${rom%/rom}
	echo 1 >"$rom"
	[ -n "$net_megabytes" ] && echo "margay-rom: ${device##*:} $(wc -c <"$rom") $(sha256sum <"$rom")"
	echo 0 >"$rom"
done
grep MSI /proc/interrupts | sed 's/^/margay-interrupt: /'
for cpu in /sys/devices/system/node/node*/cpulist; do
	echo "margay-node: ${cpu#/sys/devices/system/node/} $(cat "$cpu")"
done
dmesg | grep -E 'Linux version|pci|ahci|nvme|ata[0-9]|e1000e|igb|EXT4|PAT' | sed 's/^/margay-dmesg: /'
echo "margay-test: done"
poweroff
