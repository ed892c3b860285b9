#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# Debian's hpcc under Open MPI, with one process and with two (which share the
# CPU), each between two markers 3, its benchmarks between 1 and 2 (hpcc_marks.c);
# which they are, and what hpcc itself measured, is printed. Under -icount its
# seconds are instructions. margay.hpcc= has HPL's N of both, 0: not that.
export PATH=$PATH:/usr/bin HOME=/tmp OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader
mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm
ifconfig lo 127.0.0.1 up
cd /tmp
echo "margay-test: clock: $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
sizes=$(sed -n 's/.*margay\.hpcc=\([0-9,]*\).*/\1/p' /proc/cmdline)
while read -r n size; do
	[ "$size" = 0 ] && continue
	sed "s/NPROCS/$n/;s/SIZE/$size/" /tests/hpccinf > hpccinf.txt
	rm -f hpccoutf.txt
	mark 3
	mpirun --allow-run-as-root --oversubscribe -np $n -x LD_PRELOAD=/lib/hpcc_marks.so hpcc > /dev/null < /dev/null
	mark 3
	grep -q '^Success=1$' hpccoutf.txt || poweroff -f
	sed -n "s/^\([A-Za-z_]*\)=\([0-9.e+-]*\)$/margay-test: hpcc-$n-\1: \2/p" hpccoutf.txt
	sed -n "s/^Begin of \(.*\) section.*/margay-test: section-$n: \1/p" hpccoutf.txt | grep -v Summary
	# Residuals of HPL and PTRANS, the errors of RandomAccess, and what hpcc could not read or allocate are in the report.
	grep -q '^HPL_N=' hpccoutf.txt && ! grep -q 'FAILED\|^Error in\|^Failed' hpccoutf.txt && echo "margay-test: hpcc-$n: ok"
done <<SIZES
1 ${sizes%,*}
2 ${sizes#*,}
SIZES
echo "margay-test: done"
poweroff -f
