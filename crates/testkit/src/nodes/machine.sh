# The first process of a node's own namespaces: gives the node a file system of its own where programs write, and its
# own device folder; then takes in orphans for as long as the node lives. All of it is gone when this ends.
#   $1 the node's folder; $2 its name; then for each device NAME=PATH, or NAME=c:MAJOR:MINOR
set -eu
root=$1 name=$2
shift 2

hostname "$name"
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
# So that an answer from one Pod to another on the same bridge passes kube-proxy's rules too.
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null || true

mkdir -p "$root/lib" "$root/log" "$root/dev"
mount --bind "$root/lib" /var/lib
mount --bind "$root/log" /var/log
mount -t tmpfs -o mode=755 tmpfs /run

dev=$root/dev
mount -t tmpfs -o mode=755 tmpfs "$dev"
for device in full kmsg null ptmx random tty urandom zero; do
    [ -e "/dev/$device" ] && cp -a "/dev/$device" "$dev/$device"
done
ln -s /proc/self/fd "$dev/fd"
mkdir "$dev/pts" "$dev/shm"
mount --rbind /dev/pts "$dev/pts"
mount -t tmpfs tmpfs "$dev/shm"
for device in "$@"; do
    file=$dev/${device%%=*}
    source=${device#*=}
    case $source in
    c:*)
        source=${source#c:}
        mknod "$file" c "${source%:*}" "${source#*:}"
        ;;
    *)
        # A pseudo-terminal is what it is only in the file system it was made in, so it is mounted and not copied.
        : > "$file"
        mount --bind "$(readlink -f "$source")" "$file"
        ;;
    esac
    # As udev does for serial ports: group dialout.
    chgrp 20 "$file"
    chmod 660 "$file"
done
mount --move "$dev" /dev

echo up
while :; do
    sleep 3600 &
    wait $!
done
