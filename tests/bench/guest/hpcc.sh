#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# Debian's hpcc under Open MPI, with one process and with two (which share the
# CPU), each between markers 1 and 2; what hpcc itself measured is printed.
# Under -icount its seconds are instructions.
export PATH=$PATH:/usr/bin HOME=/tmp OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader
mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm
ifconfig lo 127.0.0.1 up
cd /tmp
for n in 1 2; do
	sed "s/NPROCS/$n/" /tests/hpccinf > hpccinf.txt
	rm -f hpccoutf.txt
	mark 1
	mpirun --allow-run-as-root --oversubscribe -np $n hpcc > /dev/null
	mark 2
	grep -q '^Success=1$' hpccoutf.txt || poweroff -f
	sed -n "s/^\([A-Za-z_]*\)=\([0-9.e+-]*\)$/margay-test: hpcc-$n-\1: \2/p" hpccoutf.txt
	# Residuals of HPL and the errors of RandomAccess are in the report.
	grep -q '^HPL_N=' hpccoutf.txt && ! grep -q 'FAILED' hpccoutf.txt && echo "margay-test: hpcc-$n: ok"
done
echo "margay-test: done"
poweroff -f
