#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# The first process of the host that tools/nested-host makes: loads KVM, waits for the drive that is named behind "--" on the
# kernel's command line, runs QEMU with the arguments behind that (with @ between), its serial line on ours, and powers the
# machine off when QEMU ends. What the host itself says goes to the second serial port, its console; the line that begins with
# "nested:" is what tools/margay_run.py wants to see.
export PATH=/bin

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp

end() {
	echo "nested: $*"
	# A change of settings waits until the last character is out: a machine that is off sends none.
	stty -F /dev/ttyS1 115200
	sync
	poweroff -f
}

# Bochs keeps interrupts pending while a guest that was entered with IF = 0 leaves it so, although they should exit, and KVM enters
# guests with the host's IF = 0: a vCPU that waits for another one with interrupts off would have the host's only CPU for good. An
# NMI does exit, and the host takes its interrupts behind it. So the PIT's interrupts, 250 a second, come as NMIs, by pin 2 of the
# I/O APIC. The kernel knows no reason for them; what it says of each stays off the serial line.
port() { # its number, a byte in octal
	printf '%b' "\\0$2" | dd of=/dev/port bs=1 seek="$1" conv=notrunc 2> /dev/null
}
pit_by_nmi() {
	echo 0 > /proc/sys/kernel/printk
	devmem 0xfec00000 32 0x15 # the register's index, then its value: to APIC ID 0
	devmem 0xfec00010 32 0
	devmem 0xfec00000 32 0x14 # an NMI, by its edge
	devmem 0xfec00010 32 0x400
	port 67 64 # counter 0, both bytes, a pulse each 4773 of 1193182 Hz
	port 64 245
	port 64 22
}

for module in ata_piix sr_mod sd_mod; do
	modprobe $module || end "modprobe $module failed"
done
if grep -q -w svm /proc/cpuinfo; then
	modprobe kvm-amd nested=1 || end "modprobe kvm-amd failed"
else
	# Bochs' shadow VMCS lacks fields that KVM wants in it.
	modprobe kvm-intel nested=1 enable_shadow_vmcs=0 || end "modprobe kvm-intel failed"
	pit_by_nmi
fi
# shellcheck disable=SC2046 # one word each
set -- $(sed 's/.* -- //' /proc/cmdline | tr @ ' ')
drive=$1
shift
[ -c /dev/kvm ] || end "no /dev/kvm"
# The drive is found by the time that its driver is loaded, or a little later.
tries=0
until [ -b "$drive" ]; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || end "no $drive"
	sleep 0.1
done
# What QEMU's guestfwd may start, for the other end of a node's network: what is on the host's disk, and onto it.
printf '#!/bin/sh\nexec cat /dev/sda\n' > /bin/fetch
printf '#!/bin/sh\nexec cat > /dev/sda\n' > /bin/store
chmod +x /bin/fetch /bin/store
# QEMU talks to them over it.
ip link set lo up || end "no lo"
# Each byte as it is: QEMU switches the processing of output on again, so that of line ends must be off by itself.
stty -F /dev/ttyS0 raw -onlcr -echo 115200

qemu-system-x86_64 "$@" < /dev/ttyS0 > /dev/ttyS0
end "QEMU ended with status $?"
