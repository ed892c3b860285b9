#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# Loads of a disk and of two network cards (network.sh), in the order of bench.py's DEVICES, margay.megabytes= each.
. /tests/network
megabytes=$(sed -n 's/.*margay\.megabytes=\([0-9]*\).*/\1/p' /proc/cmdline)
dd if=/dev/zero of=/tmp/data bs=1M count="$megabytes" 2>/dev/null
httpd -h /tmp
$other httpd -h /tmp
blocks="bs=64k count=$((megabytes * 16))"
# shellcheck disable=SC2086 # two words
for load in "dd if=/dev/nvme0n1 of=/dev/null $blocks" "dd if=/dev/zero of=/dev/nvme0n1 conv=fsync $blocks" \
	"wget -q -O /dev/null http://10.0.0.2/data" "$other wget -q -O /dev/null http://10.0.0.1/data"; do
	sleep 1
	mark 1
	$load 2>/dev/null || poweroff -f
	mark 2
done
echo "margay-test: done"
poweroff -f
