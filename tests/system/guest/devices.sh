#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=devices: the CMOS clock, the watchdog and the panic port by their stock drivers. The VM starts three times; what the
# clock shows, which outlives the VM, says which time it is: first its watchdog bites, then it panics with the driver, then without.
. /etc/profile
report() { echo "margay-test: $1: $2"; }
dog=/sys/class/watchdog/watchdog0
rtc=/sys/class/rtc/rtc0

set_clock() {
	date -u -s "$1" >/dev/null
	hwclock -u -w
}

case $(cat $rtc/date) in
2031*)
	report rtc-second-start "$(cat $rtc/date $rtc/time | tr '\n' ' ')"
	modprobe wdat_wdt
	report bootstatus-second-start "$(cat $dog/bootstatus)"
	modprobe pvpanic-mmio
	report pvpanic "$(cat /sys/devices/platform/QEMU0001:00/capability)"
	set_clock "2032-01-02 03:04:05"
	echo "margay-test: panics with the driver"
	echo c >/proc/sysrq-trigger
	;;
2032*)
	report rtc-third-start "$(cat $rtc/date)"
	modprobe wdat_wdt
	report bootstatus-third-start "$(cat $dog/bootstatus)"
	echo "margay-test: done"
	echo c >/proc/sysrq-trigger
	;;
esac

dmesg -r | sed -n 's/^<[0-3]>/margay-err: /p'
report rtc "$(cat $rtc/name)"
before=$(date +%s)
clock=$(cat $rtc/since_epoch)
now=no
[ "$clock" -ge $((before - 1)) ] && [ "$clock" -le $(($(date +%s) + 1)) ] && now=yes
report rtc-is-now $now
set_clock "2031-05-06 07:08:09"
report rtc-set "$(cat $rtc/date $rtc/time | tr '\n' ' ')"

modprobe wdat_wdt timeout=3
report watchdog "$(cat $dog/identity), timeout $(cat $dog/timeout), bootstatus $(cat $dog/bootstatus), $(cat $dog/state)"
exec 3>/dev/watchdog
for i in 1 2 3 4 5; do
	sleep 1
	echo >&3
done
report watchdog-fed "$(cat $dog/state), $(cat $dog/timeleft) left"
echo "margay-test: starves"
sleep 60
report failed "it did not bite"
