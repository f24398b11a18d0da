#!/usr/bin/env bash
# What takes a virtual machine (QEMU, software emulation) with a distribution's kernel:
# - the BPF qdiscs, since few machines run a kernel that has them: four UDP flows through the ideal PIFO and SP-PIFO; the
#   newest must take the link; a flood of frames that are not IP must leave it to ranked traffic; every qdisc must decide
#   about bursts as the library does;
#   (scripts/test_in_guest.sh qdiscs)
# - Linux's own qdiscs beside the library's schedulers on the user-space switch: shares within 2 points;
#   (scripts/test_in_guest.sh linux)
# - the machine instructions that each eBPF program executes per packet, on an emulated processor whose clock counts them.
#   They must be those of dataplane/linux/instructions.json; with GUEST_WRITE=1 they are written there.
#   (scripts/test_in_guest.sh instructions)
# Takes minutes.
#
# The guest's clock counts the instructions that it executes, a nanosecond each, and skips what it sleeps. So the guest
# has the same processors to itself whatever else this machine has to do: a busy one only makes the tests take longer.
# Nothing is tried twice.
#
# The kernel comes from Debian's trixie-backports, into a folder of its own (GUEST_FOLDER): nothing is installed. What is
# missing is said, and the test skipped; with DATAPLANE_REQUIRE=Q in the environment that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
tests=${*:-qdiscs linux instructions}
folder=${GUEST_FOLDER:-target/guest}
program=${PIFOLAB_DATAPLANE:-${CARGO_TARGET_DIR:-target}/debug/pifolab-dataplane}
# The tests of the kernel's data plane, as a program (make guest-test builds it).
kernel_tests=${PIFOLAB_KERNEL_TESTS:-}
flood=a_flood_that_is_not_ip_leaves_the_link_of_a_bpf_qdisc_to_ranked_traffic_and_arp_lives
decisions=bpf_qdiscs_decide_like_the_library
# A thousand packets a second, of which the guest's processor makes hardly anything.
rate_mbps=3
# By the guest's own clock, in which no test takes half as long.
guest_limit_s=600
# By this machine's clock, in case QEMU itself hangs.
limit_s=${GUEST_LIMIT_S:-3600}

skip() {
    if [[ ${DATAPLANE_REQUIRE:-} == *Q* ]]; then
        echo "guest: cannot test in a virtual machine, and DATAPLANE_REQUIRE asks for it: $1" >&2
        exit 1
    fi
    echo "guest: skipped the tests in a virtual machine: $1"
    exit 0
}

for tool in qemu-system-x86_64 busybox cpio xz apt-get dpkg-deb ip tc; do
    command -v "$tool" > /dev/null ||
        skip "$tool is not installed (Debian: qemu-system-x86 busybox-static cpio xz-utils iproute2)"
done
[ "$(uname -m)" = x86_64 ] || skip "the guest's kernel is for x86_64, this is $(uname -m)"
[ -x "$program" ] || skip "$program is not built (make guest-test builds it)"
[ -x "$kernel_tests" ] || skip "PIFOLAB_KERNEL_TESTS names no program (make guest-test sets it)"
without=$("$program" up --dev nosuch --rate-mbps 1 --scheduler pifo --qdisc bpf 2>&1 | grep -o 'built without.*' || true)
[ -z "$without" ] || skip "$program was $without"

# Downloads the newest cloud kernel with apt's own checks, from lists and into folders that are not the system's.
fetch_kernel() {
    mkdir -p "$folder"/{lists/partial,cache/archives/partial,packages}
    local here
    here=$(realpath "$folder")
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie-backports main" \
        > "$here/sources.list"
    local apt=(-qq -o "Dir::Etc::sourcelist=$here/sources.list" -o Dir::Etc::sourceparts=/nonexistent
        -o "Dir::State::lists=$here/lists" -o "Dir::Cache=$here/cache" -o APT::Get::List-Cleanup=0
        -o APT::Sandbox::User=root -o APT::Architecture=amd64)
    apt-get "${apt[@]}" update > /dev/null || return 1
    local image
    image=$(apt-cache "${apt[@]}" search --names-only '^linux-binary-[0-9].*-cloud-amd64$' | cut -d' ' -f1 | sort -V | tail -n 1)
    [ -n "$image" ] || return 1
    (cd "$here/packages" && apt-get "${apt[@]}" download "$image" "${image/binary/modules}" > /dev/null) || return 1
    mkdir -p "$here/kernel"
    for package in "$here"/packages/*.deb; do dpkg-deb -x "$package" "$here/kernel"; done
}
find_kernel() { find "$folder/kernel" -name "$1" 2> /dev/null | sort | tail -n 1; }
[ -n "$(find_kernel vmlinuz)" ] || fetch_kernel || skip "no kernel could be had from Debian's trixie-backports"
kernel=$(find_kernel vmlinuz)
[ -n "$kernel" ] || skip "the kernel package has no vmlinuz"
modules=()
for name in veth sch_htb cls_bpf; do
    modules+=("$(find_kernel "$name.ko*")")
    [ -n "${modules[-1]}" ] || skip "the kernel package has no module $name"
done
# These may also be built in; where they are missing altogether, the comparison with Linux's own qdiscs says so.
for name in cls_u32 sch_drr sch_fq_codel; do
    module=$(find_kernel "$name.ko*")
    [ -z "$module" ] || modules+=("$module")
done

# The guest's files: busybox, the program with ip and tc, and the libraries that they are linked with.
guest=$(mktemp -d)
trap 'rm -rf "$guest"' EXIT
mkdir -p "$guest"/{bin,proc,sys,dev,run,tmp}
cp "$(command -v busybox)" "$guest/bin/busybox"
cp "$program" "$guest/bin/pifolab-dataplane"
cp "$kernel_tests" "$guest/bin/kernel-tests"
for tool in ip tc; do cp -L "$(command -v $tool)" "$guest/bin/$tool"; done
for library in $(for tool in ip tc pifolab-dataplane kernel-tests; do ldd "$guest/bin/$tool"; done | grep -o '/[^ ]*' | sort -u); do
    mkdir -p "$guest$(dirname "$library")"
    cp -L "$library" "$guest$library"
done
for module in "${modules[@]}"; do
    case $module in *.xz) xz -dc "$module" ;; *) cat "$module" ;; esac > "$guest/$(basename "${module%.xz}")"
done
cat > "$guest/init" << INIT
#!/bin/busybox sh
export PATH=/bin
for mount in "proc proc /proc" "sysfs sys /sys" "devtmpfs dev /dev" "tmpfs run /run" "tmpfs tmp /tmp"; do
    set -- \$mount
    busybox mount -t \$1 \$2 \$3
done
for module in /*.ko; do busybox insmod \$module; done
(busybox sleep $guest_limit_s; echo "guest: not done after $guest_limit_s seconds"; busybox poweroff -f) &
# On a line of its own, behind what the firmware says.
echo
echo "guest: Linux \$(busybox uname -r)"
# The kernel hands over what it does not know of its command line.
case \$pifolab in
qdiscs)
    pifolab-dataplane testbed udp-four-flows --data-plane qdisc --schedulers pifo,sp-pifo --repeat 1 --phase-s 3 \
        --rate-mbps $rate_mbps --attempts 1 --out /tmp/out
    echo "guest: testbed ended with \$?"
    echo "guest: summary \$(busybox tr -d '\n' < /tmp/out/summary.json)"
    DATAPLANE_REQUIRE=K kernel-tests --test-threads=1 $flood $decisions 2>&1
    echo "guest: flood ended with \$?"
    # By hand (with paths: busybox has commands of these names, too), in the guest's own namespace: what is up is shown, what a killed process leaves is removed.
    /bin/ip link add v0 type veth peer name v1 && /bin/ip link set v0 up && /bin/ip link set v1 up
    pifolab-dataplane up --dev v0 --rate-mbps 5 --scheduler pifo --qdisc bpf --background
    echo "guest: up ended with \$?"
    pifolab-dataplane status --json
    busybox killall -9 pifolab-dataplane
    pifolab-dataplane down
    echo "guest: down ended with \$?"
    echo "guest: left \$(/bin/tc qdisc show dev v0 root)"
    # A foreign root qdisc is in the way, unless it is forced out of it.
    /bin/tc qdisc replace dev v0 root handle 1: pfifo
    pifolab-dataplane up --dev v0 --rate-mbps 5 --scheduler sp-pifo --qdisc bpf --background
    echo "guest: up in the way of another ended with \$?"
    pifolab-dataplane up --dev v0 --rate-mbps 5 --scheduler sp-pifo --qdisc bpf --background --force
    echo "guest: forced up ended with \$?"
    echo "guest: in its place \$(/bin/tc qdisc show dev v0 root)"
    pifolab-dataplane down
    echo "guest: left after force \$(/bin/tc qdisc show dev v0 root)"
    # TCP keeps what it sends in fragments, not in the packet's own buffer: a rank must be found there, too.
    busybox unshare -n busybox sh -c 'busybox sleep 2; /bin/ip addr add 10.9.0.2/24 dev v1; /bin/ip link set v1 up; \
        busybox nc -l -p 5000 > /tmp/received; busybox sleep 100' &
    peer=\$!
    busybox sleep 1
    /bin/ip link set v1 netns \$peer
    /bin/ip addr add 10.9.0.1/24 dev v0
    busybox sleep 3
    pifolab-dataplane up --dev v0 --rate-mbps 5 --scheduler sp-pifo --qdisc bpf --queues 2 --rank payload:0:1 --background
    busybox printf AAAAAAAAAAAAAAAA | busybox timeout 5 busybox nc 10.9.0.2 5000
    busybox sleep 1
    echo "guest: TCP \$(pifolab-dataplane status --json)"
    echo "guest: received \$(busybox cat /tmp/received)"
    pifolab-dataplane down
    ;;
linux)
    # FIFO, whose shares are a matter of chance, is compared in tables of a longer run.
    pifolab-dataplane testbed fair-shares --data-plane switch,linux --schedulers drr,fq-codel --repeat 1 --phase-s 10 \
        --rate-mbps $rate_mbps --attempts 1 --out /tmp/out
    echo "guest: comparison ended with \$?"
    echo "guest: shares \$(busybox tr -d '\n' < /tmp/out/summary.json)"
    ;;
instructions)
    echo 1 > /proc/sys/net/core/bpf_jit_enable
    echo "guest: counted \$(pifolab-dataplane cost --count-instructions)"
    ;;
esac
busybox poweroff -f
INIT
chmod +x "$guest/init"
(cd "$guest" && find . | cpio --quiet -o -H newc) | gzip -1 > "$folder/guest.cpio.gz"

# Boots the guest for one of its tests; shows what it says and leaves it in a file.
boot() { # test, processors, options of the kernel
    timeout "$limit_s" qemu-system-x86_64 -accel tcg -icount shift=0,sleep=off -smp "$2" -m 512 -nographic -no-reboot \
        -kernel "$kernel" -initrd "$folder/guest.cpio.gz" -append "console=ttyS0 quiet panic=-1 pifolab=$1 ${3:-}" \
        < /dev/null > "$folder/console.log" 2>&1 || true
    tr -d '\r' < "$folder/console.log" > "$folder/$1.log"
    grep -a -E '^guest:|^pifo|^sp-pifo|pifolab:' "$folder/$1.log" | grep -av -E '^guest: (summary|shares|counted)' || true
}

if [[ $tests == *qdiscs* ]]; then
    boot qdiscs 2
    python3 - "$folder/qdiscs.log" "$rate_mbps" << 'CHECK'
import json, re, sys

text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
rate_mbps = float(sys.argv[2])
def said(words):
    found = re.search(rf"^guest: {words}(.*)$", text, re.MULTILINE)
    if not found:
        sys.exit(f"guest: it did not say '{words}'; see {sys.argv[1]}")
    return found.group(1).strip()
for step, status in (
    ("testbed ended with", "0"),
    ("flood ended with", "0"),
    ("up ended with", "0"),
    ("down ended with", "0"),
    ("up in the way of another ended with", "2"),
    ("forced up ended with", "0"),
):
    if said(step) != status:
        sys.exit(f"guest: {step} {said(step)}, expected {status}; see {sys.argv[1]}")
runs = json.loads(said("summary"))["runs"]
for run in runs:
    share = run["phases"][-1]["share"]
    print(f"guest: {run['scheduler']}: shares of the last phase {[round(one, 3) for one in share]}, {run['counters']}")
    if run["starved"] or run["lost_outside"]:
        sys.exit(f"guest: {run['scheduler']}: the senders were starved, or packets lost outside the scheduler "
                 f"({run['losses']}): nothing was tested")
    last = run["phases"][-1]
    total = sum(last["delivered_mbps"])
    if last["delivered_mbps"][3] < 0.85 * total or total < 0.8 * rate_mbps:
        sys.exit(f"guest: {run['scheduler']}: the newest flow got {last['delivered_mbps'][3]:.2f} of {total:.2f} Mb/s, on a "
                 f"link of {rate_mbps} Mb/s")
if [run["scheduler"] for run in runs] != ["pifo", "sp-pifo"] or not runs[0]["counters"]["evicted_packets"]:
    sys.exit("guest: PIFO and SP-PIFO should both have run, and PIFO have pushed packets out")
if "pifolab" in said("left "):
    sys.exit("guest: a killed data plane was not removed")
tcp = json.loads(said("TCP"))
if tcp["bounds"] != [ord("A"), 255] or said("received") != 16 * "A" or tcp["neighbour"] == 0:
    sys.exit(f"guest: a rank in the payload of TCP was not read, or no ARP was seen: {tcp}")
if "pifolab" not in said("in its place") or "pifolab" in said("left after force"):
    sys.exit(f"guest: --force did not put a qdisc up in the place of another, or it stayed; see {sys.argv[1]}")
if "2 passed" not in text or "skipped a_flood" in text or "skipped bpf_qdiscs" in text:
    sys.exit(f"guest: the flood or the decisions were not tried; see {sys.argv[1]}")
print("guest: the BPF qdiscs work")
CHECK
fi

if [[ $tests == *linux* ]]; then
    boot linux 2
    python3 - "$folder/linux.log" << 'CHECK'
import json, re, sys

text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
found = re.search(r"^guest: shares (.*)$", text, re.MULTILINE)
if not found or "guest: comparison ended with 0" not in text:
    sys.exit(f"guest: Linux's qdiscs did not run; see {sys.argv[1]}")
summary = json.loads(found.group(1))
shares = {}
for run in summary["runs"]:
    name = (run["scheduler"], run["data_plane"])
    if run["starved"] or run["lost_outside"]:
        sys.exit(f"guest: {name}: the senders were starved, or packets lost outside the scheduler ({run['losses']}): nothing was "
                 "tested")
    shares[name] = run["phases"][-1]["share"]
if summary["skipped"]:
    sys.exit(f"guest: this kernel was expected to have both: {summary['skipped']}")
for scheduler in ("drr", "fq-codel"):
    ours, linux = shares[scheduler, "switch"], shares[scheduler, "linux"]
    apart = max(abs(a - b) for a, b in zip(ours, linux))
    print(f"guest: {scheduler}: switch {[round(one, 3) for one in ours]}, Linux {[round(one, 3) for one in linux]}")
    if apart > 0.02:
        sys.exit(f"guest: {scheduler}: {100 * apart:.1f} points apart")
print("guest: the library's schedulers and Linux's qdiscs agree within 2 points")
CHECK
fi

if [[ $tests == *instructions* ]]; then
    # What mitigates the faults of real processors would add instructions that depend on which one it is.
    boot instructions 1 mitigations=off
    python3 - "$folder/instructions.log" dataplane/linux/instructions.json "$(qemu-system-x86_64 --version | head -n 1)" << 'CHECK'
import json, os, re, sys

log, path, emulator = sys.argv[1:]
text = open(log, encoding="utf-8", errors="replace").read()
found = re.search(r"^guest: counted (\{.*\})$", text, re.MULTILINE)
if not found:
    sys.exit(f"guest: no instructions were counted; see {log}")
counted = {
    "kernel": re.search(r"^guest: (Linux .*)$", text, re.MULTILINE).group(1).strip(),
    "emulator": f"{emulator}, -icount shift=0",
    "command": "make guest-test",
    **json.loads(found.group(1)),
}
if os.environ.get("GUEST_WRITE") == "1":
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(json.dumps(counted, indent=2) + "\n")
    os.replace(f"{path}.new", path)
    print(f"guest: wrote {path}")
    sys.exit()
def by_program(counts):
    return {
        (one["scheduler"], one["variant"], what): one[what]
        for one in counts["programs"]
        for what in ("instructions", "walk_instructions")
    }
with open(path, encoding="utf-8") as file:
    kept = by_program(json.load(file))
fresh = by_program(counted)
for program in sorted({*kept, *fresh}):
    before, now = kept.get(program), fresh.get(program)
    # Helpers differ a little from one kernel to the next.
    if before is None or now is None or abs(now - before) > 0.05 * before:
        sys.exit(f"guest: {': '.join(program)}: {now} per packet, {path} has {before}; GUEST_WRITE=1 writes it anew")
print(f"guest: the instructions per packet of {len(counted['programs'])} programs are those of {path}")
CHECK
fi
