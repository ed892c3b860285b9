#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=platform: reports what the guest sees of its machine, works its
# memory, its scheduler and its vector registers, then takes typed input. One
# line "margay-test: key: value" per fact; the host's test judges them.
# margay.forks=N: how many processes are forked (2000).
. /etc/profile
report() { echo "margay-test: $1: $2"; }
serial_count() { awk '/ttyS0/ { n = 0; for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i; print n }' /proc/interrupts; }
forks=$(sed -n 's/.*margay\.forks=\([0-9]*\).*/\1/p' /proc/cmdline)

report kernel "$(uname -r)"
report cpus "$(grep -c ^processor /proc/cpuinfo)"
report vendor "$(sed -n 's/^vendor_id[^:]*: //p;' /proc/cpuinfo | head -n 1)"
report flags "$(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1)"
report memtotal-kib "$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)"
report clocksource "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
report clocksources "$(cat /sys/devices/system/clocksource/clocksource0/available_clocksource)"
report wallclock "$(date +%s)"
sed 's/^/margay-interrupts: /' /proc/interrupts
report memory "$(memtest 80)"
report forks "$(forks "${forks:-2000}")"
report vectors "$(vectors 3)"

# Without input or output no interrupt comes; then for what is typed, slowly,
# about one per character, besides the few of the line that asks for it.
stty -echo
sleep 1
before=$(serial_count)
sleep 1
report serial-irqs-idle "$(($(serial_count) - before))"
before=$(serial_count)
echo "margay-test: type"
read -r line
count=$(serial_count)
report typed "$line"
report serial-irqs-typed "$((count - before))"
stty echo

dmesg | sed 's/^/margay-dmesg: /'
echo "margay-test: done"
poweroff
