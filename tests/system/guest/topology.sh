#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=topology: what the standard tools say of CPUs, caches and NUMA
# nodes, then stamped pages of every CPU for the host to look for in the
# emulator's memory. Needs build/guest/initrd-topology.
. /etc/profile
lscpu | sed 's/^/lscpu: /'
lscpu --parse=CPU,CORE,SOCKET,NODE,CACHE | grep -v '^#' | sed 's/^/lscpu-parse: /'
numactl --hardware | sed 's/^/numactl: /'
lstopo-no-graphics --no-io --filter misc:none --of console | sed 's/^/lstopo: /'
if [ -e /sys/firmware/acpi/tables/SRAT ]; then
	hexdump -v -e '32/1 "%02x" "\n"' /sys/firmware/acpi/tables/SRAT | sed 's/^/srat: /'
fi
dmesg | sed 's/^/margay-dmesg: /'
stamp 16
echo "margay-test: done"
poweroff
