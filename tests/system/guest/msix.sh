#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=msix: writes the entries that margay.entries= names (ADDRESS:HIGH:DATA,...) into the MSI-X table of
# 00:06.0, in BAR0 at margay.table=, all of them open, and waits for a line while the test looks at the device.
. /etc/profile
value() {
	sed -n "s/.*margay\.$1=\([0-9a-fx:,]*\).*/\1/p" /proc/cmdline
}
device=/sys/bus/pci/devices/0000:00:06.0
at=$(lspci -s 00:06.0 -v | sed -n 's/.*Capabilities: \[\([0-9a-f]*\)\] MSI-X.*/\1/p')
bar=$(sed -n '1s/ .*//p' $device/resource)
# Memory decoding and bus mastering; MSI-X.
printf '\006' | dd of=$device/config bs=1 seek=4 conv=notrunc 2>/dev/null
printf '\200' | dd of=$device/config bs=1 seek=$((0x$at + 3)) conv=notrunc 2>/dev/null
entry=$((bar + $(value table)))
for words in $(value entries | tr , ' '); do
	# shellcheck disable=SC2046 # three words
	set -- $(echo "$words" | tr : ' ')
	devmem $entry 32 "$1"
	devmem $((entry + 4)) 32 "$2"
	devmem $((entry + 8)) 32 "$3"
	devmem $((entry + 12)) 32 0
	echo "margay-entry:" $(for word in 0 4 8 12; do devmem $((entry + word)) 32; done)
	entry=$((entry + 16))
done
echo "margay-test: bar: $bar"
echo "margay-test: control: $(lspci -s 00:06.0 -vv | sed -n 's/.*MSI-X: \(Enable[+-]\).*/\1/p')"
read -r _
echo "margay-test: done"
poweroff
