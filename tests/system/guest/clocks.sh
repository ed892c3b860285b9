#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=clocks: runs `clocks` (clocks.c) once for each margay.clocks=WORDS
# on the command line, the words separated by commas.
. /etc/profile
report() { echo "margay-test: $1: $2"; }
report clocksource "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
for word in $(cat /proc/cmdline); do
	case $word in
	margay.clocks=*)
		command=$(echo "${word#*=}" | tr , ' ')
		# shellcheck disable=SC2086
		clocks $command | sed "s/^/margay-test: ${command%% *}: /"
		;;
	esac
done
dmesg | sed 's/^/margay-dmesg: /'
echo "margay-test: done"
poweroff
