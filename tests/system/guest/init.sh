#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# The guest's first process: mounts what programs expect, then runs the test
# that the kernel command line names (margay.test=NAME: /tests/NAME), or a
# shell with job control on the console, again and again.
export PATH=/bin HOME=/root TERM=vt100 PS1='guest# '
. /etc/profile

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /tmp
hostname guest
cd /root

name=$(sed -n 's/.*margay\.test=\([a-z0-9-]*\).*/\1/p' /proc/cmdline)
if [ -n "$name" ]; then
	# Kernel messages would fall into the test's lines.
	dmesg -n 1
	[ -x "/tests/$name" ] && "/tests/$name"
	# A test ends the machine itself.
	echo "margay-test: failed: $name"
	poweroff
fi

echo
# What follows an end only the VM file knows, and says it in cmdline =.
after=$(sed -n 's/.*margay\.after="\([^"]*\)".*/\1/p' /proc/cmdline)
echo "Margay guest: Linux $(uname -r), busybox. ${after:-poweroff and reboot end this VM; what follows says its file}."
while true; do
	setsid cttyhack sh -l
done
