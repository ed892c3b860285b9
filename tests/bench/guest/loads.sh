#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# The loads of margay.loads=, each for margay.window= milliseconds, once what the one before has left to do is done. With
# margay.every=1 on each CPU at once.
window=$(sed -n 's/.*margay\.window=\([0-9]*\).*/\1/p' /proc/cmdline)
every=$(sed -n 's/.*margay\.every=\([0-9]*\).*/\1/p' /proc/cmdline)
loads=$(sed -n 's/.*margay\.loads=\([a-z,]*\).*/\1/p' /proc/cmdline | tr , ' ')
case $loads in
*nvme* | *igb*)
	. /tests/network
	$other loads sink &
	;;
esac
for load in $loads; do
	sleep 1
	loads "$load" "$window" $every || poweroff -f
done
sleep 1
echo "margay-test: done"
poweroff -f
