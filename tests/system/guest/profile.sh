# SPDX-License-Identifier: GPL-2.0-only
# /etc/profile of the guest, for its shell and for the tests. There is no init
# to be asked for the end: straight to the kernel, after what was printed.
drain() { stty opost </dev/console; } # sets what is set; the terminal first waits for its output
poweroff() { sync; drain; busybox poweroff -f; }
reboot() { sync; drain; busybox reboot -f; }
