#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The first program of an image's initrd: mounts the squashfs that is the VM's first disk, lays over it what can be written, and
# goes there. margay-build packs it, with busybox and the modules that it loads.
#
# Words of the command line:
#   margay.root=/dev/vda      the disk with the squashfs
#   margay.overlay=ram        what is written lies in memory: half of it at most, or margay.overlay=ram:SIZE (512M, 20%)
#   margay.overlay=/dev/vdb   it lies on this disk, a scratch disk; one without a file system gets one (ext2)
#   margay.files=/dev/vdb     a tar archive on this disk is laid over the root: what this VM has of its own
#   init=PATH                 what is started there; else /sbin/init
#   margay.break              a shell before that
#   margay.self-test          self_test.sh is started when the root has come up
export PATH=/bin

# A VM that waits for nobody tells its node by ending, and as one that failed: by a triple fault, which its node counts as a crash
# without a driver in the guest. Kernels before 5.11 have no such file, and restart.
die() {
	# At the level of what is critical, which "quiet" lets through; the kernel's own line is out when this is done.
	echo "<2>initrd: $*" >/dev/kmsg
	echo triple >/sys/kernel/reboot/type
	exec reboot -f
}

# The last of that name, as the kernel has it.
word() {
	value=
	# shellcheck disable=SC2013
	for w in $(cat /proc/cmdline); do
		case $w in "$1="*) value=${w#*=} ;; esac
	done
	echo "${value:-$2}"
}

is_there() {
	case " $(cat /proc/cmdline) " in *" $1 "*) true ;; *) false ;; esac
}

# A driver makes its disk's node as it finds it, some time after it is loaded.
wait_for() {
	tries=0
	until [ -b "$1" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 500 ] || die "there is no disk $1: the VM's file must name it (disk =)"
		usleep 20000
	done
}

mount_upper() {
	where=$(word margay.overlay ram)
	case $where in
	ram) mount -t tmpfs -o size=50%,mode=755 overlay /upper ;;
	ram:*) mount -t tmpfs -o "size=${where#ram:},mode=755" overlay /upper ;;
	/dev/*)
		wait_for "$where"
		# Scratch disks are zero at each start; one that somebody has formatted stays as it is.
		if [ "$(head -c 131072 "$where" | tr -d '\0' | wc -c)" = 0 ]; then
			mke2fs -I 256 -i 32768 "$where" >/dev/null || die "cannot format $where"
		fi
		mount -t ext4 "$where" /upper
		;;
	*) false ;;
	esac || die "margay.overlay=$where cannot be mounted"
}

# In the root's /run, which is new at each start. systemd takes it as it finds it.
bring_self_test() {
	mount -t tmpfs -o mode=755,nosuid,nodev run /root/run || die "the root has no /run"
	mkdir -p /root/run/margay /root/run/systemd/system/multi-user.target.wants
	cp /self-test /root/run/margay/self-test
	cat >/root/run/systemd/system/margay-self-test.service <<-END
		[Unit]
		Description=How this image has come up
		After=multi-user.target
		[Service]
		ExecStart=/bin/sh /run/margay/self-test
	END
	ln -s ../margay-self-test.service /root/run/systemd/system/multi-user.target.wants/
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev

while read -r module; do
	# One that fails has said so in the kernel's log; what it is needed for fails with a reason below.
	insmod "/modules/$module.ko" 2>/dev/null
done </modules/order

root=$(word margay.root /dev/vda)
wait_for "$root"
mount -t squashfs -o ro "$root" /lower || die "$root is no squashfs that this kernel reads"
mount_upper
mkdir -p /upper/upper /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/upper,workdir=/upper/work overlay /root || die "no overlay over $root"

if is_there margay.break; then
	echo "initrd: a shell; the root is in /root; exit goes on"
	setsid cttyhack sh
fi

init=$(word init /sbin/init)
files=$(word margay.files)
for folder in proc sys dev; do
	[ -d "/root/$folder" ] || die "the root has no /$folder"
done
# From inside, for a link there may begin with a slash.
mount --bind /bin /root/proc
if [ "$files" ]; then
	wait_for "$files"
	chroot /root /proc/busybox tar -x <"$files" || die "$files is no tar archive that can be unpacked"
fi
chroot /root /proc/busybox test -x "$init" || die "the root has no program $init"
umount /root/proc
if is_there margay.self-test; then
	bring_self_test
fi
for folder in proc sys dev; do
	mount --move "/$folder" "/root/$folder"
done
exec switch_root /root "$init"
