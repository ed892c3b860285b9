#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# margay.test=cluster margay.rank=1|2: two machines on one network, 10.0.9.1 and 10.0.9.2, on a card of the driver
# margay.drivers=. Files both ways over TCP; RDMA verbs over Ethernet (rdma_rxe); MPI: an all-to-all of ours, and with
# margay.hpcc=yes hpcc.
. /etc/profile
export PATH="$PATH:/usr/bin"
argument() {
	sed -n "s/.*margay\.$1=\([a-z0-9_]*\).*/\1/p" /proc/cmdline
}
# One after the other, lest two guests of a machine write into each other's lines on its console.
exec 3>&1 1>/tmp/said 2>&1
say() {
	cat /tmp/said - >&3
	drain
}
# Until a command succeeds, not for ever.
await() {
	for i in $(seq 600); do
		"$@" && return
		sleep 1
	done
	echo "margay-test: gave-up: $*" | say
	poweroff
}
linked() { [ "$(cat /sys/class/net/eth0/carrier)" = 1 ]; }
listens() { netstat -ltn | grep -q ":$1 "; }
rank=$(argument rank)
me=10.0.9.$rank other=10.0.9.$((3 - rank))
# The machines go on together. Port 7000 is for this.
meet() {
	if [ "$rank" = 1 ]; then
		nc -l -p 7000 >/dev/null </dev/null
	else
		await nc "$other" 7000 </dev/null 2>/dev/null
	fi
}
# What a program said, and its status.
tell() {
	echo "margay-test: $1: $2"
	sed "s/^/margay-$1: /" "/tmp/$1"
}
# Rank 1's program waits at a port; then, and not before, rank 2's begins.
together() {
	name=$1 port=$2
	shift 2
	if [ "$rank" = 1 ]; then
		timeout 120 "$@" >"/tmp/$name" 2>&1 &
		await listens "$port"
		meet
		wait $!
	else
		meet
		timeout 120 "$@" "$other" >"/tmp/$name" 2>&1
	fi
	tell "$name" $?
}
# A process on each machine: rank 1's mpirun starts rank 2's daemon by /bin/remote (cluster.py).
mpi() {
	name=$1
	shift
	if [ "$rank" = 1 ]; then
		meet
		# By names, as Open MPI 5 does not know its own machine by an address.
		mpirun --allow-run-as-root --host machine1,machine2 -np 2 "$@" >"/tmp/$name" 2>&1 </dev/null
		tell "$name" $?
	else
		nc -l -p 7002 -e /bin/sh &
		await listens 7002
		meet
	fi
	meet
}
hostname "machine$rank"
modprobe margay-guest 2>/dev/null
[ "$(argument drivers)" = virtio_net ] && modprobe virtio_pci
modprobe "$(argument drivers)"
await [ -d /sys/class/net/eth0 ]
ip addr add "$me/24" dev eth0
ip link set eth0 up
ip link set lo up
await linked
await ping -c 1 -W 1 "$other" >/dev/null
for file in /sys/kernel/margay/*; do
	[ -f "$file" ] && sed "s/^/margay-sys: ${file##*/} /" "$file"
done
# A file each way.
dd if=/dev/urandom of=/tmp/sent bs=64k count=32 2>/dev/null
echo "margay-test: sent: $(sha256sum </tmp/sent)"
httpd -p 7001 -h /tmp
await listens 7001
meet
echo "margay-test: got: $(wget -q -O - "http://$other:7001/sent" | sha256sum)"
# What rdma_rxe computes its checksums with, which the kernel would load by a program that is not here.
modprobe crc32_generic
modprobe rdma_rxe
modprobe ib_uverbs
rdma link add rxe0 type rxe netdev eth0
await [ -e /dev/infiniband/uverbs0 ]
# The GID of the card's IPv4 address.
gid=$(grep -il ":ffff:0a00:090$rank" /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null | head -n 1)
echo "margay-test: gid: ${gid##*/}"
together pingpong 18515 ibv_rc_pingpong -d rxe0 -g "${gid##*/}" -c -s 16384 -n 200
together write 18515 ib_write_bw -d rxe0 -x "${gid##*/}" -F -s 16384 -n 200
together send 18515 ib_send_bw -d rxe0 -x "${gid##*/}" -F -s 16384 -n 200
# The agent's second name is that of Open MPI 5.
export HOME=/tmp OMPI_MCA_plm_rsh_agent=/bin/remote PRTE_MCA_plm_ssh_agent=/bin/remote OMPI_MCA_btl=self,tcp
export OMPI_MCA_btl_tcp_if_include=10.0.9.0/24 OMPI_MCA_oob_tcp_if_include=10.0.9.0/24
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
cd /tmp
mpi all-to-all all_to_all
if [ "$(argument hpcc)" = yes ]; then
	sed 's/NPROCS/2/;s/SIZE/100/' /tests/hpccinf >hpccinf.txt
	mpi hpcc hpcc
	[ "$rank" = 2 ] || grep -E '^[A-Za-z_]+=|FAILED' hpccoutf.txt | sed 's/^/margay-result: /'
fi
grep eth0 /proc/interrupts | sed 's/^/margay-interrupt: /'
[ "$rank" = 2 ] || echo "margay-test: done" | say
meet
[ "$rank" = 1 ] || echo "margay-test: done" | say
# Who ends first takes the network from the other.
meet
poweroff
