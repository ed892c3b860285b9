#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=sriov margay.vfs=N: has an igb, switches N virtual functions on and waits for other VMs on them; margay.vfs=0:
# has one of these. margay.me, margay.all: it is number me of all VMs on the card, the one with the igb is 1; without, there are
# two. TCP both ways between each two, by 10.0.9.(number). margay.then=off: when that is done the virtual functions are switched
# off, and the others look on; margay.then=hold: the first does nothing but have them on. margay.vlan=N, there: virtual functions
# 0 and 1 are in that VLAN, and have MAC addresses. margay.then=reach, in the others: TCP between those from margay.first to
# margay.all only; then it tells whether the first answers. margay.then=stream: when that is done 32 MiB go from the first to the
# second, who before and behind that is still for as long as somebody takes to count. margay.guest=yes: with margay-guest.
# margay.outside=yes: behind all that each fetches a file from the card's other end, 10.0.9.201, and gives its own to 10.0.9.202.
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
identity() { dd if="$vf/config" bs=4 count=1 2>/dev/null | od -An -tx4 | tr -d ' '; }
pf=$(grep -l 0x10c9 /sys/bus/pci/devices/*/device)
pf=${pf%/device}
# What nc sends where it is to receive: nothing, and no end either, at which the other side would stop.
mkfifo /tmp/nothing
exec 3<>/tmp/nothing
vfs=$(argument vfs)
me=$(argument me)
all=$(argument all)
[ "$me" ] || me=$((vfs == 0 ? 2 : 1))
[ "$all" ] || all=2
first=$(argument first)
[ "$first" ] || first=1
# Those with a higher number fetch a file from here and give one back.
serve() {
	nc -l -p $((7000 + 2 * $1)) </tmp/file >/dev/null
	say "got-$1" "$(nc -l -p $((7001 + 2 * $1)) <&3 | sha256sum)"
}
fetch() { nc "10.0.9.$1" $((7000 + 2 * me)) <&3 >/tmp/got 2>/dev/null; }
give() { nc "10.0.9.$1" $((7001 + 2 * me)) </tmp/file 2>/dev/null; }
exchange() {
	for other in $(seq $((me + 1)) "$all"); do
		serve "$other" &
	done
	for other in $(seq "$first" $((me - 1))); do
		await fetch "$other"
		say "got-$other" "$(sha256sum </tmp/got)"
		await give "$other"
	done
	wait
}
outside() {
	fetch_outside() { nc 10.0.9.201 80 <&3 >/tmp/got 2>/dev/null; }
	give_outside() { nc 10.0.9.202 80 </tmp/file >/dev/null 2>&1; }
	await fetch_outside
	say outside "$(sha256sum </tmp/got)"
	await give_outside
}
hundredths() { sed 's/ .*//; s/\.//' /proc/uptime; }
packets() { cat /sys/class/net/eth0/statistics/rx_packets; }
stream() { nc 10.0.9.1 6800 <&3 2>/dev/null >/tmp/stream; }
leave() { nc 10.0.9.1 $((6900 + me)) </dev/null 2>/dev/null; }
# The module for DMA windows, if it is wanted.
[ "$(argument guest)" = yes ] && modprobe margay-guest
# The driver of virtual functions is there for all, so that one that can be bound is.
modprobe igbvf
modprobe igb
for path in /sys/bus/pci/devices/*; do
	driver=$(readlink "$path/driver")
	say "$(echo "${path##*/}" | tr :. --)" "$(cat "$path/vendor") $(cat "$path/device") ${driver##*/}"
	[ -e "$path/net/eth0" ] && vf=$path
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
	vlan=$(argument vlan)
	if [ "$vlan" ]; then
		# Not busybox'.
		for n in 0 1; do
			/bin/ip link set eth0 vf "$n" mac "02:00:00:00:09:0$n"
			/bin/ip link set eth0 vf "$n" vlan "$vlan"
		done
		/bin/ip link set eth0 vf 1 spoofchk off
		/bin/ip link show eth0 | sed 's/^/margay-link: /'
	fi
	if [ "$(argument then)" = hold ]; then
		say holding "$vfs"
		while true; do sleep 1000; done
	fi
	exchange
	[ "$(argument outside)" = yes ] && outside
	[ "$(argument then)" = stream ] && dd if=/dev/zero bs=64k count=512 2>/dev/null | nc -l -p 6800 >/dev/null
	for other in $(seq 2 "$all"); do
		nc -l -p $((6900 + other)) </dev/null >/dev/null
	done
	if [ "$(argument then)" = off ]; then
		echo 0 >$pf/sriov_numvfs
		say off "$(cat $pf/sriov_numvfs)"
	fi
else
	lspci -vvv 2>&1 | sed 's/^/margay-lspci: /'
	network "$me"
	exchange
	[ "$(argument outside)" = yes ] && outside
	say mac "$(cat /sys/class/net/eth0/address)"
	if [ "$(argument then)" = reach ]; then
		reached=no
		ping -c 5 -w 20 10.0.9.1 >/dev/null && reached=yes
		say first-answers $reached
		echo "margay-test: done"
		poweroff
		exit
	fi
	if [ "$(argument then)" = stream ]; then
		say still "$(packets)"
		sleep 15
		say streaming "$(packets)"
		await stream
		say streamed "$(packets)"
		sleep 15
		say bytes "$(wc -c </tmp/stream)"
	fi
	grep -E 'MSI' /proc/interrupts | sed 's/^/margay-interrupt: /'
	[ "$(argument then)" = off ] && say before "$(identity)"
	await leave
	if [ "$(argument then)" = off ]; then
		# When it first reads as ones, or is gone already; and when the interface is.
		while [ "$(identity)" = 10ca8086 ]; do :; done
		was=$(hundredths)
		while [ -e /sys/class/net/eth0 ]; do :; done
		say hundredths $(($(hundredths) - was))
		# The function goes after its interface.
		while [ -e "$vf" ]; do :; done
		say after removed
	fi
fi
dmesg | grep -E -e 'igb|pci 0000:(00:(08|18)|01:)|SR-IOV|VF' | sed 's/^/margay-dmesg: /'
echo "margay-test: done"
poweroff
