#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=clocks: runs `clocks` (clocks.c) once for each margay.clocks=WORDS
# on the command line, the words separated by commas. Forms of its own:
# on,CPU,WORDS runs it on that CPU; beside,WORDS while the next ones run, for
# which wait waits; use,NAME makes NAME the clock source; load works every CPU
# from then on: processes, memory, timers, console output;
# cyclictest,US,TIMES runs that program of rt-tests (initrd-cyclictest).
. /etc/profile
report() { echo "margay-test: $1: $2"; }
sysfs=/sys/devices/system/clocksource/clocksource0
run() {
	case $1 in
	use) echo "$2" > $sysfs/current_clocksource; report use "$(cat $sysfs/current_clocksource)" ;;
	load)
		for cpu in $(sed -n 's/^processor[^:]*: //p' /proc/cpuinfo); do
			while forks 500 > /dev/null && sleep 0.1; do :; done &
			taskset -c "$cpu" clocks doze 1000 &
			while echo "load on CPU $cpu" && sleep 0.01; do :; done &
		done
		;;
	on) cpu=$2; shift 2; taskset -c "$cpu" clocks "$@" | sed "s/^/margay-test: $1: /" ;;
	beside) shift; run "$@" & ;;
	wait) wait ;;
	cyclictest) report cyclictest "$(cyclictest --quiet --mlockall --nsecs -p 80 -i "$2" -l "$3" | grep '^T:')" ;;
	*) clocks "$@" | sed "s/^/margay-test: $1: /" ;;
	esac
}
report clocksource "$(cat $sysfs/current_clocksource)"
report flags "$(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1)"
for word in $(cat /proc/cmdline); do
	case $word in
	margay.clocks=*)
		# shellcheck disable=SC2046
		run $(echo "${word#*=}" | tr , ' ')
		;;
	esac
done
dmesg | sed 's/^/margay-dmesg: /'
echo "margay-test: done"
poweroff
