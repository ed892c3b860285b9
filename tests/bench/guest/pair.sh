#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.me=1: asks the other machine, which is margay.me=2, on a network that both have by virtio: margay.mib=, margay.trips=,
# margay.datagrams=.
word() { sed -n "s/.*margay\.$1=\([0-9]*\).*/\1/p" /proc/cmdline; }
# Which has things to say by itself.
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
for module in $(cat /bench/virtio-net); do
	insmod "/bench/$module.ko"
done
ip addr add "10.0.0.$(word me)/24" dev eth0
ip link set eth0 up
if [ "$(word me)" = 1 ]; then
	pair ask 10.0.0.2 "$(word mib)" "$(word trips)" "$(word datagrams)" && echo "margay-test: done"
else
	pair serve
fi
poweroff -f
