#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=way-out: the way out of a node's virtual network. margay.role=gate: the one with a card, of the driver
# margay.drivers=, bridges between that and the segment, has 10.0.2.30 itself, and goes on until margay.guests= others have told it
# that they are done. margay.role=guest: one with a virtual interface alone asks for an address by DHCP and fetches a file by TFTP.
# margay.guest=yes: first the module for DMA windows.
. /etc/profile
report() { echo "margay-test: $1: $2"; }
word() { sed -n "s/.*margay\.$1=\([0-9a-z]*\).*/\1/p" /proc/cmdline; }
# Until it succeeds: the others may not have come so far.
again() {
	for i in $(seq 120); do
		"$@" 2>/dev/null && return 0
		sleep 1
	done
	report failed "$*"
	return 1
}

[ "$(word guest)" = yes ] && modprobe margay-guest
for driver in virtio_pci virtio_net $(word drivers); do
	modprobe "$driver"
done
ip link set lo up
if [ "$(word role)" = gate ]; then
	modprobe bridge
	again [ -d /sys/class/net/eth1 ]
	brctl addbr br0
	for path in /sys/class/net/eth*; do
		eth=${path##*/}
		driver=$(readlink "$path/device/driver")
		report "$(echo "${driver##*/}" | tr _ -)" "$eth, $(
			readlink -f "$path/device" | grep -o '[0-9a-f]*:[0-9a-f]*:[0-9a-f.]*' | tail -n 1)"
		ip link set "$eth" up
		brctl addif br0 "$eth"
	done
	ip addr add 10.0.2.30/24 dev br0
	ip link set br0 up
	for i in $(seq "$(word guests)"); do
		nc -l -p 5001 >/dev/null
	done
	# Who is where, by the bridge: its own ports; whom it has heard, as address, port, is it its own (struct __fdb_entry).
	for path in /sys/class/net/eth*; do
		report "port-${path##*/}" "$(cat "$path/brport/port_no" "$path/address" | tr '\n' ' ')"
	done
	hexdump -v -e '16/1 "%02x " "\n"' /sys/class/net/br0/brforward | sed 's/^/margay-bridge: /'
	# What lies where: BARs (start, end, flags), and memory.
	for path in /sys/bus/pci/devices/*; do
		sed "s/^/margay-bar: ${path##*/} /" "$path/resource"
	done
	sed -n 's/^ *\([0-9a-f]*\)-\([0-9a-f]*\) : System RAM/margay-ram: 0x\1 0x\2/p' /proc/iomem
	lspci -nn | sed 's/^/margay-lspci: /'
	grep MSI /proc/interrupts | sed 's/^/margay-interrupt: /'
else
	report interfaces "$(ls /sys/class/net | tr '\n' ' ')"
	cat >/tmp/bound <<-'END'
		#!/bin/busybox sh
		[ "$1" = bound ] || exit 0
		ip addr add "$ip/24" dev "$interface"
		ip route add default via "$router"
		echo "margay-test: address: $ip by $router"
	END
	chmod +x /tmp/bound
	ip link set eth0 up
	again udhcpc -q -n -t 2 -T 2 -i eth0 -s /tmp/bound >/tmp/dhcp
	grep '^margay-test: ' /tmp/dhcp
	again tftp -g -b 1400 -r image -l /tmp/image 10.0.2.2
	report image "$(sha256sum </tmp/image)"
	again nc 10.0.2.30 5001 </dev/null
fi
dmesg -r | sed -n 's/^<[0-3]>/margay-err: /p'
echo "margay-test: done"
poweroff
