#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=net: Debian's virtio_net between VMs. margay.net=1 serves until it is told that all is over; margay.net=2 asks, sends
# and receives margay.kib= by TCP, over IPv4 and IPv6, floods eth1, which the other has down, and reports. Interface ethN has
# 10.0.N.(margay.net) and fd0N::(margay.net).
. /etc/profile
report() { echo "margay-test: $1: $2"; }
word() { sed -n "s/.*margay\.$1=\([0-9a-z]*\).*/\1/p" /proc/cmdline; }
me=$(word net)
kib=$(word kib)

# Addresses are good at once.
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
for driver in virtio_pci virtio_net; do
	modprobe $driver
done
ip link set lo up
for path in /sys/class/net/eth*; do
	eth=${path##*/}
	n=${eth#eth}
	[ -d "$path" ] || continue
	ip addr add "10.0.$n.$me/24" dev "$eth"
	ip -6 addr add "fd0$n::$me/64" dev "$eth"
	ip link set "$eth" up
	report "$eth" "$(cat "$path/address"), mtu $(cat "$path/mtu"), $(ls -d "$path"/queues/rx-* | wc -l) queues"
done

# Until it succeeds: the other one may not have come so far.
again() {
	for i in $(seq 300); do
		"$@" 2>/dev/null && return 0
		sleep 0.1
	done
	report failed "$*"
	return 1
}
send() { nc "$1" 5000 </tmp/data; }

if [ "$me" = 1 ]; then
	mkdir /tmp/www
	head -c $((kib * 1024)) /dev/urandom >/tmp/www/data
	report data "$(sha256sum </tmp/www/data)"
	httpd -h /tmp/www
	# An interface that is down takes nothing: what was offered before is filled, and no more.
	ip link set eth1 down
	for v in 4 6 4-plain 6-plain; do
		nc -l -p 5000 >/tmp/in
		sha256sum </tmp/in >/tmp/sum
		mv /tmp/sum /tmp/www/sum$v
	done
	nc -l -p 5001 >/dev/null
else
	again ping -c 1 -W 1 10.0.0.1 >/dev/null
	report ping "$(ping -c 20 -i 0.01 -s 1400 10.0.0.1 | grep packets)"
	report ping6 "$(ping6 -c 20 -i 0.01 -s 1400 fd00::1 | grep packets)"
	head -c $((kib * 1024)) /dev/urandom >/tmp/data
	report sent "$(sha256sum </tmp/data)"
	# eth2, where nothing is offloaded, is the second way.
	for address in 10.0.0.1 fd00::1 10.0.2.1 fd02::1; do
		case $address in *:*) v=6 url="http://[$address]" ;; *) v=4 url="http://$address" ;; esac
		case $address in *2*1) v=$v-plain ;; esac
		again wget -q -O /tmp/got "$url/data"
		report "got$v" "$(sha256sum </tmp/got)"
		again send $address
		again wget -q -O /tmp/sum "$url/sum$v"
		report "sent$v" "$(cat /tmp/sum)"
	done
	arp -i eth1 -s 10.0.1.1 02:00:00:00:01:01
	report flood "$(udp_flood 10.0.1.1 3000 1000)"
	again nc 10.0.0.1 5001 </dev/null
fi
report errors "$(cat /sys/class/net/eth?/statistics/[rt]x_errors | sort -u | tr '\n' ' ')"
grep -E 'virtio' /proc/interrupts | sed 's/^/margay-interrupt: /'
dmesg -r | sed -n 's/^<[0-4]>/margay-err: /p'
echo "margay-test: done"
poweroff
