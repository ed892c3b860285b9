#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# A page mapped for DMA and unmapped margay.loops= times by the module dma-loop; then direct reads of 4 KiB of the disk nvme0n1,
# margay.reads= of them, each a DMA of its own; then memory is registered with rdma_rxe on the card eth0,
# margay.registrations= times. Natively there is no margay-guest.
. /etc/profile
modprobe margay-guest 2>/dev/null
modprobe nvme
for i in $(seq 30); do
	[ -b /dev/nvme0n1 ] && break
	sleep 1
done
echo "margay-test: dma: $(cat /sys/kernel/margay/dma 2>/dev/null || echo native)"
insmod /bench/dma-loop.ko loops="$(sed -n 's/.*margay\.loops=\([0-9]*\).*/\1/p' /proc/cmdline)" || poweroff
reads=$(sed -n 's/.*margay\.reads=\([0-9]*\).*/\1/p' /proc/cmdline)
mark 1
dd if=/dev/nvme0n1 of=/dev/null bs=4k count="$reads" iflag=direct || poweroff
mark 2
modprobe igb
# What rdma_rxe computes its checksums with, which the kernel would load by a program that is not here.
modprobe crc32_generic
modprobe rdma_rxe
modprobe ib_uverbs
ip link set eth0 up
/usr/bin/rdma link add rxe0 type rxe netdev eth0 || poweroff
for i in $(seq 30); do
	[ -e /dev/infiniband/uverbs0 ] && break
	sleep 1
done
/bench/register rxe0 "$(sed -n 's/.*margay\.registrations=\([0-9]*\).*/\1/p' /proc/cmdline)" || poweroff
echo "margay-test: done"
poweroff
