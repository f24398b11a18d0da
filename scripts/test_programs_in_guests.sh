#!/usr/bin/env bash
# Builds the eBPF programs with every clang of Debian's, and loads them on kernels that docs/dataplane.md names, each
# in a virtual machine (QEMU, software emulation): with every option that changes their code. A table says what was loaded.
#   scripts/test_programs_in_guests.sh [KERNEL ...]      # such as 7.3; the default is 5.10, 6.1, 6.12 and 7.3
# 6.16 and 6.18 come and go in backports.
#
# The guest's clock counts instructions, as in test_in_guest.sh: however busy this machine is, no time limit in it passes early.
# CLANGS names the compilers (default: "14 15 16 17 18 19 21 22 23"), GUEST_FOLDER where everything is kept.
#
# Kernels and compilers come from Debian's archive, from the distributions that have them, into folders of their own:
# nothing is installed. A compiler runs with the libraries that it came with. Some 6 GB; a kernel takes a few minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${GUEST_FOLDER:-target/guest}")
program=${PIFOLAB_DATAPLANE:-${CARGO_TARGET_DIR:-target}/debug/pifolab-dataplane}
limit_s=${GUEST_LIMIT_S:-7200}
clangs=${CLANGS:-14 15 16 17 18 19 21 22 23}

# One line: the kernel, and where it comes from: distribution, pattern of the package's name.
kernels=(
    "5.10 bullseye linux-image-5\.10\.[0-9-]+-cloud-amd64-unsigned"
    "6.1 bookworm linux-image-6\.1\.[0-9-]+-cloud-amd64-unsigned"
    "6.12 trixie linux-image-6\.12\.[0-9]+\+deb13-cloud-amd64-unsigned"
    "6.16 trixie-backports linux-image-6\.16\.[0-9]+\+deb13-cloud-amd64"
    "6.18 trixie-backports linux-image-6\.18\.[0-9]+\+deb13-cloud-amd64"
    "7.3 trixie-backports linux-binary-7\.3\.[0-9]+\+deb13-cloud-amd64"
)
declare -A clang_from=(
    [14]=bookworm [15]=bookworm [16]=bookworm [17]=trixie [18]=trixie [19]=trixie [21]=sid [22]=trixie [23]=sid
)
wanted=${*:-5.10 6.1 6.12 7.3}

fail() { echo "guests: $1" >&2; exit 1; }
for tool in qemu-system-x86_64 busybox cpio xz apt-get dpkg-deb ip tc; do
    command -v "$tool" > /dev/null || fail "$tool is not installed (Debian: qemu-system-x86 busybox-static cpio xz-utils iproute2)"
done
[ -x "$program" ] || fail "$program is not built (cargo build --manifest-path dataplane/linux/Cargo.toml --target-dir target)"

# The build writes a header from the library's own lists of words.
choices=$(find "${CARGO_TARGET_DIR:-target}"/*/build/pifolab-dataplane-*/out -name choices.h -printf '%T@ %h\n' 2> /dev/null |
    sort -n | tail -n 1 | cut -d' ' -f2 || true)
[ -n "$choices" ] || fail "choices.h is not there: build the data plane first"

# apt with the lists of one distribution, which knows of nothing that is installed.
apt_of() { # distribution, apt command, ...
    local suite=$1 here=$folder/apt-$1 command=$2
    shift 2
    mkdir -p "$here"/{lists/partial,cache/archives/partial,parts}
    touch "$here/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" \
        > "$here/sources.list"
    local options=(-qq -o "Dir::Etc::sourcelist=$here/sources.list" -o "Dir::Etc::sourceparts=$here/parts"
        -o "Dir::Etc::preferencesparts=$here/parts" -o "Dir::State::lists=$here/lists" -o "Dir::State::status=$here/status"
        -o "Dir::Cache=$here/cache" -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User=root -o APT::Architecture=amd64)
    [ -e "$here/updated" ] || { apt-get "${options[@]}" update > /dev/null && touch "$here/updated"; }
    "$command" "${options[@]}" "$@"
}

fetch_kernel() { # kernel
    local line suite pattern package
    for line in "${kernels[@]}"; do
        read -r name suite pattern <<< "$line"
        [ "$name" = "$1" ] || continue
        package=$(apt_of "$suite" apt-cache search --names-only "^$pattern\$" | cut -d' ' -f1 | sort -V | tail -n 1)
        [ -n "$package" ] || fail "$suite has no kernel $1"
        mkdir -p "$folder/packages-$1" "$folder/kernel-$1"
        (cd "$folder/packages-$1" && apt_of "$suite" apt-get download "$package" > /dev/null)
        # Newer kernels have their modules apart.
        case $package in
            linux-binary-*) (cd "$folder/packages-$1" && apt_of "$suite" apt-get download "${package/binary/modules}" > /dev/null) ;;
        esac
        for package in "$folder/packages-$1"/*.deb; do dpkg-deb -x "$package" "$folder/kernel-$1"; done
        return
    done
    fail "no kernel $1: expected one of$(printf ' %s' "${kernels[@]%% *}")"
}

# Unpacks a compiler with all that it needs, and prints the command that runs it.
clang_command() { # version
    local here=$folder/clang-$1 suite=${clang_from[$1]:-} libraries
    [ -n "$suite" ] || fail "clang $1: expected one of $(printf '%s\n' "${!clang_from[@]}" | sort -n | tr '\n' ' ')"
    if [ ! -x "$here/usr/lib/llvm-$1/bin/clang" ]; then
        apt_of "$suite" apt-get install -y --no-install-recommends --download-only "clang-$1" > /dev/null
        mkdir -p "$here"
        for package in "$folder/apt-$suite"/cache/archives/*.deb; do dpkg-deb -x "$package" "$here"; done
        rm -f "$folder/apt-$suite"/cache/archives/*.deb
    fi
    libraries=$here/usr/lib/x86_64-linux-gnu:$here/lib/x86_64-linux-gnu:$here/usr/lib/llvm-$1/lib
    echo "$(find "$here" -name ld-linux-x86-64.so.2 -not -type d | head -n 1) --library-path $libraries" \
        "$here/usr/lib/llvm-$1/bin/clang -resource-dir $(find "$here/usr/lib/llvm-$1/lib/clang" -mindepth 1 -maxdepth 1 | head -n 1)"
}

compile() { # version
    local out=$folder/objects/clang-$1 clang source
    mkdir -p "$out"
    clang=$(clang_command "$1")
    for source in dataplane/linux/bpf/*/*.bpf.c; do
        case $source in
            # BPF qdiscs need what older ones do not write.
            */qdisc.bpf.c) [ "$1" -ge 17 ] || continue ;;
        esac
        # shellcheck disable=SC2046,SC2086
        $clang $(cat dataplane/linux/bpf/flags) -I"$choices" -I/usr/include/x86_64-linux-gnu -c "$source" \
            -o "$out/$(basename "$(dirname "$source")").$(basename "${source%.c}").o"
    done
}

guest=$(mktemp -d)
trap 'rm -rf "$guest"' EXIT
rm -rf "$folder/objects"
for version in $clangs; do compile "$version"; done

# The files that all guests have.
mkdir -p "$guest"/{bin,proc,sys,dev,run,tmp}
cp "$(command -v busybox)" "$guest/bin/busybox"
cp "$program" "$guest/bin/pifolab-dataplane"
for tool in ip tc; do cp -L "$(command -v $tool)" "$guest/bin/$tool"; done
for library in $(for tool in ip tc pifolab-dataplane; do ldd "$guest/bin/$tool"; done | grep -o '/[^ ]*' | sort -u); do
    mkdir -p "$guest$(dirname "$library")"
    cp -L "$library" "$guest$library"
done
cp -r "$folder/objects" "$guest/objects"
mkdir "$guest/vectors"
cp conformance/*.json "$guest/vectors"
# A folder for each scheduler.
for source in dataplane/linux/bpf/*/filter.bpf.c; do basename "$(dirname "$source")"; done > "$guest/schedulers"
cat > "$guest/init" << 'INIT'
#!/bin/busybox sh
export PATH=/bin
for mount in "proc proc /proc" "sysfs sys /sys" "devtmpfs dev /dev" "tmpfs run /run" "tmpfs tmp /tmp"; do
    set -- $mount
    busybox mount -t $1 $2 $3
done
for module in veth sch_htb cls_bpf; do [ -e /$module.ko ] && busybox insmod /$module.ko; done
echo
echo "guest: Linux $(busybox uname -r)"
echo "guest: doctor $(pifolab-dataplane doctor --json)"
pifolab-dataplane conformance --through kernel /vectors/*.json | busybox tail -n 1 | busybox sed 's/^/guest: conformance /'
for folder in /objects/*; do
    pifolab-dataplane doctor --programs --objects $folder | busybox sed "s,^,guest: $(busybox basename $folder) ,"
done
# What the doctor calls the default must go up as it is.
/bin/ip link add v0 type veth peer name v1 && /bin/ip link set v0 up && /bin/ip link set v1 up
for scheduler in $(busybox cat /schedulers); do
    echo "guest: trying $scheduler"
    pifolab-dataplane up --dev v0 --rate-mbps 5 --scheduler $scheduler --background | busybox sed 's/^/guest: up /'
    pifolab-dataplane down > /dev/null
done
echo "guest: done"
busybox poweroff -f
INIT
chmod +x "$guest/init"

status=0
for kernel in $wanted; do
    [ -n "$(find "$folder/kernel-$kernel" -name 'vmlinuz*' 2> /dev/null | head -n 1)" ] || fetch_kernel "$kernel"
    rm -f "$guest"/*.ko
    for name in veth sch_htb cls_bpf; do
        module=$(find "$folder/kernel-$kernel" -name "$name.ko*" | head -n 1)
        case $module in
            "") ;; # built in
            *.xz) xz -dc "$module" > "$guest/$name.ko" ;;
            *) cp "$module" "$guest/$name.ko" ;;
        esac
    done
    (cd "$guest" && find . | cpio --quiet -o -H newc) | gzip -1 > "$folder/programs-$kernel.cpio.gz"
    # A processor without what the emulation of QEMU 7.2 gets wrong: AVX, which some of these kernels try out at the start,
    # and cmpxchg16b, which leaves wrong flags, so that 6.12's memory allocator crashes.
    timeout "$limit_s" qemu-system-x86_64 -accel tcg -icount shift=0,sleep=off -cpu Nehalem,-cx16 -m 1024 -nographic -no-reboot \
        -kernel "$(find "$folder/kernel-$kernel" -name 'vmlinuz*' | head -n 1)" -initrd "$folder/programs-$kernel.cpio.gz" \
        -append "console=ttyS0 quiet panic=-1" < /dev/null > "$folder/console-$kernel.log" 2>&1 || true
    tr -d '\r' < "$folder/console-$kernel.log" > "$folder/programs-$kernel.log"
    rm -f "$folder/programs-$kernel.cpio.gz" "$folder/console-$kernel.log"
    python3 scripts/programs_in_guest.py "$folder/programs-$kernel.log" "$kernel" || status=1
done
exit $status
