#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=pci: loads the drivers that margay.drivers= names (a,b), and
# reports the functions, their drivers, what came from the disk margay.disk= and
# over the network card margay.net=, and by how many interrupts. margay.patience=: seconds for disk and network to come (60).
. /etc/profile
# margay.guest=yes: first the module for DMA windows; =wrong: the one whose windows are wrong; =none: which translates nothing.
module=$(sed -n 's/.*margay\.guest=\([a-z]*\).*/\1/p' /proc/cmdline)
case $module in
yes) modprobe margay-guest || echo "margay-test: guest: failed" ;;
wrong | none) insmod "/lib/modules/margay-guest-$(uname -r)-$module.ko" || echo "margay-test: guest: failed" ;;
esac
for driver in $(sed -n 's/.*margay\.drivers=\([a-z0-9_,]*\).*/\1/p' /proc/cmdline | tr , ' '); do
	modprobe "$driver"
done
patience=$(sed -n 's/.*margay\.patience=\([0-9]*\).*/\1/p' /proc/cmdline)
# A disk appears some time after its driver.
disk=$(sed -n 's/.*margay\.disk=\([a-z0-9]*\).*/\1/p' /proc/cmdline)
for i in $(seq "${patience:-60}"); do
	[ -z "$disk" ] || [ -b "/dev/$disk" ] && break
	sleep 1
done
lspci -nn -vvv 2>&1 | sed 's/^/margay-lspci: /'
for path in /sys/bus/pci/devices/*; do
	driver=$(readlink "$path/driver")
	node=$(cat "$path/numa_node")
	echo "margay-pci: ${path##*/} $(cat "$path/vendor") $(cat "$path/device") driver=${driver##*/} node=$node"
done
for file in /sys/kernel/margay/*; do
	[ -f "$file" ] && sed "s/^/margay-sys: ${file##*/} /" "$file"
done
if [ -n "$disk" ] && [ ! -b "/dev/$disk" ]; then
	echo "margay-test: disk: none"
elif [ -n "$disk" ]; then
	echo "margay-test: sum: $(sha256sum "/dev/$disk")"
	# Once more by each CPU, into memory of its own node.
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		echo 3 >/proc/sys/vm/drop_caches
		echo "margay-sum: ${cpu##*cpu} $(taskset -c "${cpu##*cpu}" sha256sum "/dev/$disk")"
	done
	# Written in the guest, read back from the device.
	dd if=/dev/urandom of=/tmp/data bs=64k count=64 2>/dev/null
	dd if=/tmp/data of="/dev/$disk" bs=64k conv=fsync 2>/dev/null
	sync
	echo 3 >/proc/sys/vm/drop_caches
	echo "margay-test: wrote: $(sha256sum </tmp/data)"
	echo "margay-test: read: $(dd if="/dev/$disk" bs=64k count=64 2>/dev/null | sha256sum)"
fi
net=$(sed -n 's/.*margay\.net=\([a-z0-9]*\).*/\1/p' /proc/cmdline)
if [ -n "$net" ]; then
	ip addr add 10.0.2.15/24 dev "$net"
	ip link set "$net" up
	for i in $(seq "${patience:-60}"); do
		[ "$(cat "/sys/class/net/$net/carrier")" = 1 ] && break
		sleep 1
	done
	echo "margay-test: carrier: $(cat "/sys/class/net/$net/carrier")"
	# TCP, down and up; the other end closes.
	dd if=/dev/urandom of=/tmp/up bs=64k count=32 2>/dev/null
	# shellcheck disable=SC2046 # margay.peer=ADDRESS:PORT:PORT: where to fetch from and send to
	set -- $(sed -n 's/.*margay\.peer=\([0-9.:]*\).*/\1/p' /proc/cmdline | tr : ' ')
	echo "margay-test: down: $(nc -w "${patience:-60}" "${1:-10.0.2.100}" "${2:-80}" </dev/null | sha256sum)"
	nc -w "${patience:-60}" "${1:-10.0.2.101}" "${3:-80}" </tmp/up
	echo "margay-test: up: $(sha256sum </tmp/up)"
fi
grep -E 'MSI|PCI|IO-APIC' /proc/interrupts | sed 's/^/margay-interrupt: /'
dmesg | grep -E -e 'PCI|pci|MCFG|MMCONFIG|ahci|nvme|ata[0-9]|e1000|PAT|margay|swiotlb|software IO' \
	-e 'nobody cared|Disabling IRQ|timed out' | sed 's/^/margay-dmesg: /'
echo "margay-test: done"
# margay.end=reboot: once more, and again.
grep -q margay.end=reboot /proc/cmdline && reboot
poweroff
