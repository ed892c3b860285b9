#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=vlan margay.vlan=1|2|3: eth0 of all three is on one segment with VLANs and a large MTU: 1 is in VLAN 10, 2 is in that,
# and by a tag in VLAN 20, 3 is in VLAN 20. By eth1, which knows no VLANs, 1 and 2 find out that the others are there. When all is
# done they stay, for the management VM to look at what was counted.
. /etc/profile
report() { echo "margay-test: $1: $2"; }
me=$(sed -n 's/.*margay\.vlan=\([0-9]*\).*/\1/p' /proc/cmdline)

for driver in virtio_pci virtio_net 8021q; do
	modprobe $driver
done
# Who speaks IPv6 says something whenever it likes.
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
ip link set lo up
ip link set eth0 up
report mtu "$(cat /sys/class/net/eth0/mtu)"

# Until it succeeds: the others may not have come so far.
again() {
	for i in $(seq 600); do
		"$@" 2>/dev/null && return 0
		sleep 0.1
	done
	report failed "$*"
	return 1
}
send() { nc "$1" 5000 </tmp/data; }
asks() { ping -c "$1" -i 0.1 -W "$2" -s "$3" "$4" 2>&1 | grep packets; }
# Pieces that Linux has cut packets into: /proc/net/snmp, FragCreates.
pieces() { grep ^Ip: /proc/net/snmp | tail -n 1 | cut -d ' ' -f 20; }
# A device of VLAN 20, with this address.
vlan20() {
	ip link add link eth0 name eth0.20 type vlan id 20
	ip addr add "$1" dev eth0.20
	ip link set eth0.20 up
}
# An interface that is there for the others to find, when eth0 is as it shall be.
there() {
	ip addr add "10.0.1.$me/24" dev eth1
	ip link set eth1 up
}
here() { for other in "$@"; do again ping -c 1 -W 1 "10.0.1.$other" >/dev/null; done; }

case $me in
1)
	ip addr add 10.0.10.1/24 dev eth0
	there
	here 2 3
	# 8,972 bytes and both headers are as much as one frame holds; one byte more is two.
	report large "$(asks 5 30 8972 10.0.10.2)"
	report pieces "$(pieces)"
	report larger "$(asks 5 30 8973 10.0.10.2)"
	report more-pieces "$(pieces)"
	# The other VLAN: by what is asked for by broadcasts, then by the address that it has, then by its tag.
	ip addr add 10.0.20.1/24 dev eth0
	report asked "$(asks 2 1 56 10.0.20.3)"
	arp -i eth0 -s 10.0.20.3 02:00:00:00:00:03
	report told "$(asks 2 1 56 10.0.20.3)"
	arp -i eth0 -d 10.0.20.3
	ip addr del 10.0.20.1/24 dev eth0
	vlan20 10.0.20.1/24
	report tagged "$(asks 2 1 56 10.0.20.3)"
	arp -i eth0.20 -s 10.0.20.3 02:00:00:00:00:03
	report tagged-told "$(asks 2 1 56 10.0.20.3)"
	;;
2)
	ip addr add 10.0.10.2/24 dev eth0
	vlan20 10.0.20.2/24
	there
	here 1 3
	report large "$(asks 5 30 8972 10.0.20.3)"
	report pieces "$(pieces)"
	head -c 2097152 /dev/urandom >/tmp/data
	report sent "$(sha256sum </tmp/data)"
	again wget -q -O /tmp/got http://10.0.20.3/data
	report got "$(sha256sum </tmp/got)"
	again send 10.0.20.3
	;;
3)
	ip addr add 10.0.20.3/24 dev eth0
	mkdir /tmp/www
	head -c 2097152 /dev/urandom >/tmp/www/data
	report data "$(sha256sum </tmp/www/data)"
	httpd -h /tmp/www
	there
	nc -l -p 5000 >/tmp/in
	report in "$(sha256sum </tmp/in)"
	;;
esac
report errors "$(cat /sys/class/net/eth?/statistics/[rt]x_errors | sort -u | tr '\n' ' ')"
dmesg -r | sed -n 's/^<[0-4]>/margay-err: /p'
echo "margay-test: measured"
while :; do sleep 1000; done
