#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=lan margay.lan=1|2|3|4: eth0 of all four is on one segment, 1 and 2 isolated, 3 not, 4 a mirror; there ethN's address
# is 10.0.N.(margay.lan) and 02:00:00:00:00:(margay.lan). By eth1 3 tells the others how far all have come, so that on eth0 there
# is nothing but what is looked at.
. /etc/profile
report() { echo "margay-test: $1: $2"; }
me=$(sed -n 's/.*margay\.lan=\([0-9]*\).*/\1/p' /proc/cmdline)

modprobe virtio_pci
modprobe virtio_net
# Who speaks IPv6 says something whenever it likes.
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
ip link set lo up
for n in 0 1; do
	ip addr add "10.0.$n.$me/24" dev "eth$n"
done
ip link set eth1 up

# Until it succeeds: the others may not have come so far.
again() {
	for i in $(seq 600); do
		"$@" 2>/dev/null && return 0
		sleep 0.1
	done
	report failed "$*"
	return 1
}
# All have come as far: 3 waits for each at a port of its own.
gather() {
	for other in 1 2 4; do
		nc -l -p "6$1$other" </dev/null >/dev/null &
		eval "arrival$other=$!"
	done
	wait $arrival1 $arrival2 $arrival4
}
arrive() { again nc 10.0.1.3 "6$1$me" </dev/null >/dev/null; }
# And the others go on when it has a file.
mkdir -p /tmp/www
meet() {
	if [ "$me" = 3 ]; then
		gather "$1"
		touch "/tmp/www/met$1"
	else
		arrive "$1"
		again wget -q -O /dev/null "http://10.0.1.3/met$1"
	fi
}
[ "$me" = 3 ] && head -c 300000 /dev/urandom >/tmp/www/data && httpd -h /tmp/www

ip link set eth0 up
frames eth0 >/tmp/frames &
watch=$!
again grep -q ready /tmp/frames
meet 1
answers() { report "$1" "$(ping -c 2 -i 0.1 -W "$wait" "$2" 2>&1 | grep packets)"; }
for turn in 1 2 3 4; do
	for other in 1 2 3; do
		[ $turn = "$me" ] && [ $other != "$me" ] || continue
		# Who is not to be reached is not waited for long; who is may be slow, on a busy machine.
		case "$me$other" in 12 | 21 | 4?) wait=1 ;; *) wait=30 ;; esac
		# It is asked for by broadcasts; then by its address, which nobody has to ask for.
		answers "asked-$other" "10.0.0.$other"
		arp -s "10.0.0.$other" "02:00:00:00:00:0$other"
		answers "told-$other" "10.0.0.$other"
		report "flood-$other" "$(udp_flood "10.0.0.$other" 300 1000)"
	done
	meet $((turn + 1))
done
[ "$me" -lt 3 ] && report data "$(wget -q -O - http://10.0.0.3/data | sha256sum)"
[ "$me" = 3 ] && report data "$(sha256sum </tmp/www/data)"
meet 6
kill $watch
wait $watch
sed -n 's/^\([a-z].*-.*\)/margay-test: saw-\1/p' /tmp/frames
report errors "$(cat /sys/class/net/eth?/statistics/[rt]x_errors | sort -u | tr '\n' ' ')"
dmesg -r | sed -n 's/^<[0-4]>/margay-err: /p'
# 3 has what the others ask for: it ends last.
if [ "$me" = 3 ]; then gather 7; else arrive 7; fi
echo "margay-test: done"
poweroff
