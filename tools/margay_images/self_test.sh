#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Says in the kernel's log how an image has come up, and ends the VM: by a power-off where all is well, else by a triple fault. The
# initrd brings it as /run/margay/self-test when margay.self-test is on the command line; systemd starts it behind
# multi-user.target, and another init by itself.
#
# margay_images/trial.py reads what it says:
#   up: STATE, of systemd as `systemctl is-system-running` has it; how long that took; memory
#   failed unit: UNIT      error: LINE OF THE JOURNAL      self-test: LINE OF THE IMAGE'S OWN
#   end: good, or end: bad: WHY
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
TEST=/usr/lib/margay/self-test

# At the level of what is critical, which "quiet" lets through. A record has at most 1 KiB.
say() {
	printf '<2>margay-image: %.800s\n' "$*" >/dev/kmsg
}

end_bad() {
	say "end: bad: $*"
	echo triple >/sys/kernel/reboot/type
	# Needs no program, nor anybody who agrees.
	echo b >/proc/sysrq-trigger
}

say_up() {
	read -r up _ </proc/uptime
	total=0 free=0 cached=0
	while read -r key value _; do
		case $key in
		MemTotal:) total=$value ;;
		MemFree:) free=$value ;;
		Buffers: | Cached: | SReclaimable:) cached=$((cached + value)) ;;
		esac
	done </proc/meminfo
	# What is used, as the program free has it.
	say "up: $1, $up s; memory: $total KiB, $((total - free - cached)) used, $cached cached"
}

# One that is started again and again is none that has failed, to systemd.
failed_units() {
	systemctl list-units --state=failed,auto-restart --plain --no-legend | while read -r unit _; do echo "$unit"; done
}

by_systemd() {
	state=$(systemctl is-system-running --wait)
	# What is said here is of that priority, too.
	journalctl -b -p err -q -o short-monotonic --no-hostname >/run/margay/errors
	units=$(failed_units)
	say_up "$state"
	while read -r line; do say "error: $line"; done </run/margay/errors
	for unit in $units; do say "failed unit: $unit"; done
	[ "$state" = running ] || end_bad "systemd says '$state'"
	[ -z "$units" ] || end_bad "units have failed"
	systemctl is-active --quiet multi-user.target || end_bad "multi-user.target is not reached"
}

own_test() {
	if [ ! -x "$TEST" ]; then
		say "self-test: none: the image has no $TEST"
		return
	fi
	"$TEST" </dev/null >/run/margay/said 2>&1
	status=$?
	while read -r line || [ "$line" ]; do say "self-test: $line"; done </run/margay/said
	[ "$status" = 0 ] || end_bad "$TEST: status $status"
}

read -r init </proc/1/comm
if [ "$init" = systemd ]; then
	by_systemd
else
	say_up "$init"
fi
own_test
say "end: good"
if [ "$init" = systemd ]; then
	systemctl poweroff
else
	poweroff -f
fi
