#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=sriov margay.vfs=N: has an igb, switches N virtual functions on and waits for one other VM on them; margay.vfs=0:
# has one of these. TCP both ways between the two, 10.0.9.1 and 10.0.9.2. margay.then=off: when that is done the virtual
# functions are switched off, and the other VM looks on.
. /etc/profile
argument() {
	sed -n "s/.*margay\.$1=\([a-z0-9]*\).*/\1/p" /proc/cmdline
}
say() { echo "margay-test: $1: $2"; }
# Until a command succeeds, not for ever.
await() {
	for i in $(seq 300); do
		"$@" && return
		sleep 1
	done
	say gave-up "$*"
	poweroff
	exit
}
linked() { [ "$(cat /sys/class/net/eth0/carrier 2>/dev/null)" = 1 ]; }
network() {
	ip addr add "10.0.9.$1/24" dev eth0
	ip link set eth0 up
	await linked
}
# What its function's configuration space says, now.
identity() { dd if=/sys/bus/pci/devices/0000:00:18.2/config bs=4 count=1 2>/dev/null | od -An -tx4 | tr -d ' '; }
pf=/sys/bus/pci/devices/0000:00:08.0
# What nc sends where it is to receive: nothing, and no end either, at which the other side would stop.
mkfifo /tmp/nothing
exec 3<>/tmp/nothing
vfs=$(argument vfs)
# The driver of virtual functions is there for all, so that one that can be bound is.
modprobe igbvf
modprobe igb
for path in /sys/bus/pci/devices/*; do
	driver=$(readlink "$path/driver")
	say "$(echo "${path##*/}" | tr :. --)" "$(cat "$path/vendor") $(cat "$path/device") ${driver##*/}"
done
dd if=/dev/urandom of=/tmp/file bs=64k count=32 2>/dev/null
say sent "$(sha256sum </tmp/file)"
if [ "$vfs" != 0 ]; then
	network 1
	say total "$(cat $pf/sriov_totalvfs)"
	echo "$vfs" >$pf/sriov_numvfs
	say on "$(cat $pf/sriov_numvfs)"
	for path in "$pf"/virtfn*; do
		there=$(readlink "$path")
		driver=$(readlink "$path/driver")
		say "${path##*/}" "${there##*/} $(cat "$path/device") ${driver##*/}"
	done
	nc -l -p 7000 </tmp/file >/dev/null
	say got "$(nc -l -p 7001 <&3 | sha256sum)"
	nc -l -p 7002 </dev/null >/dev/null
	if [ "$(argument then)" = off ]; then
		echo 0 >$pf/sriov_numvfs
		say off "$(cat $pf/sriov_numvfs)"
	fi
else
	lspci -vvv 2>&1 | sed 's/^/margay-lspci: /'
	network 2
	fetch() { nc 10.0.9.1 7000 <&3 >/tmp/got 2>/dev/null; }
	await fetch
	say got "$(sha256sum </tmp/got)"
	give() { nc 10.0.9.1 7001 </tmp/file 2>/dev/null; }
	await give
	grep -E 'MSI' /proc/interrupts | sed 's/^/margay-interrupt: /'
	[ "$(argument then)" = off ] && say before "$(identity)"
	leave() { nc 10.0.9.1 7002 </dev/null 2>/dev/null; }
	await leave
	if [ "$(argument then)" = off ]; then
		gone() { [ "$(identity)" = ffffffff ]; }
		await gone
		say after "$(identity)"
	fi
fi
dmesg | grep -E -e 'igb|pci 0000:00:(08|18)|SR-IOV|VF' | sed 's/^/margay-dmesg: /'
echo "margay-test: done"
poweroff
