#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=virtio: what Debian's own virtio drivers find and do: each disk's size, name and contents (read margay.reads= times,
# once), what is written to one in memory, and with margay.hvc=LINES the console hvc0: so many lines there, with margay.uart=LINES
# so many on ttyS0 beside it, and without margay.typed=no one that is typed. margay.guest=yes: first the module for DMA windows.
# margay.real=DRIVER,DISK: what a disk of the machine's own has.
. /etc/profile
report() { echo "margay-test: $1: $2"; }
disks=$(sed -n 's/.*margay\.disks=\([0-9]*\).*/\1/p' /proc/cmdline)
lines=$(sed -n 's/.*margay\.hvc=\([0-9]*\).*/\1/p' /proc/cmdline)

reads=$(sed -n 's/.*margay\.reads=\([0-9]*\).*/\1/p' /proc/cmdline)

grep -q 'margay\.guest=yes' /proc/cmdline && modprobe margay-guest
for driver in virtio_pci virtio_blk virtio_console; do
	modprobe $driver
done
for i in $(seq 60); do
	[ "$(find /dev -name 'vd?' | wc -l)" = "${disks:-0}" ] && break
	sleep 1
done
lspci -nn -vv 2>&1 | sed 's/^/margay-lspci: /'
for path in /sys/block/vd?; do
	disk=${path##*/}
	[ -d "$path" ] || continue
	report "$disk" "$(cat "$path/size") sectors, ro $(cat "$path/ro"), $(cat "$path/serial"), $(cat "$path/queue/write_cache")"
	report "$disk-sum" "$(sha256sum <"/dev/$disk")"
	if [ "$(cat "$path/ro")" = 1 ]; then
		dd if=/dev/zero of="/dev/$disk" bs=512 count=1 conv=fsync 2>/dev/null && report "$disk-written" yes
		echo 3 >/proc/sys/vm/drop_caches
		for i in $(seq "${reads:-1}"); do
			again=$(dd if="/dev/$disk" bs=64k iflag=direct 2>/dev/null | sha256sum)
		done
		report "$disk-again" "$again"
		continue
	fi
	# At the beginning, and up to the last sector.
	dd if=/dev/urandom of=/tmp/data bs=64k count=32 2>/dev/null
	dd if=/tmp/data of="/dev/$disk" bs=64k conv=fsync 2>/dev/null
	dd if=/tmp/data of="/dev/$disk" bs=512 count=9 seek=$(($(cat "$path/size") - 9)) conv=fsync 2>/dev/null
	echo 3 >/proc/sys/vm/drop_caches
	report "$disk-wrote" "$(sha256sum </tmp/data) $(head -c 4608 /tmp/data | sha256sum)"
	report "$disk-read" "$(head -c 2097152 "/dev/$disk" | sha256sum) $(tail -c 4608 "/dev/$disk" | sha256sum)"
done
real=$(sed -n 's/.*margay\.real=\([a-z0-9,]*\).*/\1/p' /proc/cmdline)
if [ -n "$real" ]; then
	modprobe "${real%,*}"
	for i in $(seq 60); do
		[ -b "/dev/${real#*,}" ] && break
		sleep 1
	done
	report real "$(sha256sum <"/dev/${real#*,}")"
fi
if [ -n "$lines" ]; then
	# As whole buffers, with no newline made two characters.
	seq -w "$lines" | sed 's/^/hvc-line /' >/tmp/lines
	(stty -opost && cat /tmp/lines) <>/dev/hvc0 >&0
	uart=$(sed -n 's/.*margay\.uart=\([0-9]*\).*/\1/p' /proc/cmdline)
	if [ -n "$uart" ]; then
		seq -w "$uart" | sed 's/^/uart-line /' >/tmp/lines
		(stty -opost && cat /tmp/lines) <>/dev/ttyS0 >&0
		stty opost </dev/ttyS0
	fi
	if ! grep -q 'margay\.typed=no' /proc/cmdline; then
		# Open all the while: what was typed is lost when the last one closes it. Without echo, which would come in pieces
		# between what the UART's terminal says on the same line.
		exec 3<>/dev/hvc0
		stty -echo -opost <&3
		echo "margay-test: listens" >&3
		read -r typed <&3
		exec 3>&-
		report typed "$typed"
	fi
fi
grep -E 'virtio' /proc/interrupts | sed 's/^/margay-interrupt: /'
dmesg | grep -E -e 'virtio|MCFG|ECAM|hvc|I/O error|vd[a-z]' | sed 's/^/margay-dmesg: /'
dmesg -r | sed -n 's/^<[0-3]>/margay-err: /p'
echo "margay-test: done"
poweroff
