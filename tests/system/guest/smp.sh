#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=smp: makes every CPU work and every kind of interrupt travel
# between them, then reports the counts per CPU.
. /etc/profile
report() { echo "margay-test: $1: $2"; }
cpus=$(grep -c ^processor /proc/cpuinfo)

report cpus "$cpus"
for node in /sys/devices/system/node/node[0-9]*; do
	report nodes "${node##*node}: cpus $(cat "$node/cpulist") distance $(cat "$node/distance") $(
		awk '/MemTotal/ { print int($4 / 1024) " MiB" }' "$node/meminfo")"
done
# A pipe between neighbours: each byte wakes the other CPU by IPI.
n=0
while [ "$n" -lt "$cpus" ]; do
	next=$(((n + 1) % cpus))
	yes | taskset -c "$n" head -n 20000 | taskset -c "$next" wc -l >> /tmp/lines &
	n=$((n + 1))
done
wait
report lines "$(sort -u /tmp/lines | tr '\n' ' ')"
report workers "$(wc -l < /tmp/lines)"
# SysRq l sends an NMI to all other CPUs, which print where they are: not into the middle of a line of ours.
drain
echo 1 > /proc/sys/kernel/sysrq
echo l > /proc/sysrq-trigger
sleep 1
sed 's/^/margay-interrupts: /' /proc/interrupts
# How it has idled: the driver, and how often in which state. A slow machine prints the above for so long that it has not slept yet.
idle=/sys/devices/system/cpu
slept() { cat $idle/cpu0/cpuidle/state[1-9]*/usage | awk '{ n += $1 } END { print n }'; }
n=0
while [ -e $idle/cpu0/cpuidle/state1 ] && [ "$(slept)" -le 3 ] && [ "$n" -lt 30 ]; do
	sleep 1
	n=$((n + 1))
done
report idle "$(cat $idle/cpuidle/current_driver) $(for state in $idle/cpu0/cpuidle/state*; do
	[ -e "$state/usage" ] && echo "$(cat "$state/name")=$(cat "$state/usage")"; done | tr '\n' ' ')"
report states "$(for state in $idle/cpu0/cpuidle/state*; do
	[ -e "$state/desc" ] && echo "$(cat "$state/name") $(cat "$state/latency") $(cat "$state/desc")"; done | tr '\n' ';')"
report backtraces "$(dmesg | grep -c 'NMI backtrace for cpu')"
dmesg | grep -v 'Call Trace' | sed 's/^/margay-dmesg: /'
echo "margay-test: done"
poweroff
