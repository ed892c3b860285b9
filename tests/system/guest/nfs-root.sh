#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# rdinit=/tests/nfs-root: the first program of a diskless node. Loads the network card's driver that margay.drivers=
# names, mounts the root that margay.root=ADDRESS:PORT:PATH has by NFSv4, and goes there: /sbin/init (nfs-init.sh). Its own
# address is margay.address= (10.0.2.15).
export PATH=/bin
. /etc/profile
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
dmesg -n 1
for driver in $(sed -n 's/.*margay\.drivers=\([a-z0-9_,]*\).*/\1/p' /proc/cmdline | tr , ' ') nfsv4; do
	modprobe "$driver"
done
# shellcheck disable=SC2046 # address, port, path
set -- $(sed -n 's/.*margay\.root=\([a-z0-9./:]*\).*/\1/p' /proc/cmdline | tr : ' ')
me=$(sed -n 's/.*margay\.address=\([0-9.]*\).*/\1/p' /proc/cmdline)
me=${me:-10.0.2.15}
ip addr add "$me/24" dev eth0
ip link set eth0 up
for i in $(seq 60); do
	[ "$(cat /sys/class/net/eth0/carrier)" = 1 ] && break
	sleep 1
done
mkdir /new
# The way there may be another VM's, which is still to come.
for i in $(seq 30); do
	mount_nfs "$1:$3" /new "vers=4.0,proto=tcp,port=$2,addr=$1,clientaddr=$me,sec=sys" && mounted=yes && break
	sleep 2
done
[ -n "$mounted" ] || poweroff
umount /dev /sys /proc
exec switch_root /new /sbin/init
