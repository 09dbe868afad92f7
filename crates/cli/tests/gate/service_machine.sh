#!/usr/bin/env bash
# Starts a real systemd in namespaces of its own, over a copy of this machine's files that is thrown
# away: what it writes, which users it adds and which ports it opens stays there.
#   unshare --mount --pid --fork --net ... service_machine.sh FOLDER PROGRAMS
# FOLDER is empty; PROGRAMS is the folder of `countersign` and `countersign-hook`.
set -e
folder=$1 programs=$2
ip link set lo up
mount -t tmpfs tmpfs "$folder"
mkdir "$folder"/{changes,work,root}
mount -t overlay overlay "$folder/root" \
    -o "lowerdir=/,upperdir=$folder/changes,workdir=$folder/work"
cd "$folder/root"
# The kernel's settings are those of the whole machine: systemd may read them only.
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,ro,bind proc/sys
mount -t sysfs -o ro sysfs sys
if [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]; then
    mount -t cgroup2 cgroup2 sys/fs/cgroup
else
    mount -t tmpfs tmpfs sys/fs/cgroup
    mkdir sys/fs/cgroup/systemd
    mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
fi
mount -t tmpfs tmpfs run
mkdir run/programs
cp "$programs/countersign" "$programs/countersign-hook" run/programs/
mount -t tmpfs tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
    touch dev/$device
    mount --bind /dev/$device dev/$device
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs tmpfs dev/shm
exec env -i container=test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    chroot . /lib/systemd/systemd --system --unit=basic.target
