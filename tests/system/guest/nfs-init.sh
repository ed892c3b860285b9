#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# /sbin/init of a root on NFS (nfs-root.sh): what it is, what its file /data holds, and one that it writes, /up. It tells
# margay.gate=, if there is one, that it is done.
export PATH=/bin
. /etc/profile
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
echo "margay-test: root: $(sed -n 's/^\(\S*\) \/ \(nfs4*\) .*/\1 \2/p' /proc/mounts)"
echo "margay-test: data: $(sha256sum </data)"
dd if=/dev/urandom of=/up bs=64k count=128 2>/dev/null
sync
echo 3 >/proc/sys/vm/drop_caches
echo "margay-test: up: $(sha256sum </up)"
grep MSI /proc/interrupts | sed 's/^/margay-interrupt: /'
gate=$(sed -n 's/.*margay\.gate=\([0-9.]*\).*/\1/p' /proc/cmdline)
for i in $(seq ${gate:+60}); do
	nc "$gate" 5001 </dev/null && break
	sleep 1
done
echo "margay-test: done"
poweroff
