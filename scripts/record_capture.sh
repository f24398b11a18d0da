#!/usr/bin/env bash
# Records the demo's capture: kernel TCP flows of many sizes on their way into a bottleneck.
#
#   sender --- router === 100 Mb/s, 50 packets ==> receiver
#                ^ captured here, before the queue
#
# Three network namespaces joined by veth pairs. A flow's DSCP is a class of its size (0: 10 kB, 10: 100 kB, 20: 1 MB,
# 30: 6 MB), so that replaying with the rank from DSCP prefers small flows. Everything is removed on exit.
# Usage (as root): scripts/record_capture.sh [FILE.pcap.gz]; needs iproute2, ethtool, tcpdump, python3, gzip.
set -euo pipefail

out=$(realpath -m "${1:-python/pifolab/data/tcp-mix.pcap.gz}")
[ "$(id -u)" -eq 0 ] || { echo "record_capture.sh: needs root, to make network namespaces" >&2; exit 1; }
for tool in ip tc ethtool tcpdump python3 gzip; do
    command -v "$tool" > /dev/null || { echo "record_capture.sh: $tool is not installed" >&2; exit 1; }
done

sender=pifolab-src-$$ router=pifolab-rtr-$$ receiver=pifolab-dst-$$
work=$(mktemp -d)
cleanup() {
    # The job list holds what this script started in the background, and nothing else.
    jobs -p | xargs -r kill 2> /dev/null || true
    wait 2> /dev/null || true
    for ns in "$sender" "$router" "$receiver"; do
        ip netns del "$ns" 2> /dev/null || true
    done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for ns in "$sender" "$router" "$receiver"; do
    ip netns add "$ns"
    ip netns exec "$ns" sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
    ip -n "$ns" link set lo up
done
ip -n "$sender" link add s0 type veth peer name r0 netns "$router"
ip -n "$router" link add r1 type veth peer name d0 netns "$receiver"
ip -n "$sender" address add 10.20.1.1/24 dev s0
ip -n "$router" address add 10.20.1.2/24 dev r0
ip -n "$router" address add 10.20.2.2/24 dev r1
ip -n "$receiver" address add 10.20.2.1/24 dev d0
for end in "$sender s0" "$router r0" "$router r1" "$receiver d0"; do
    read -r ns device <<< "$end"
    ip -n "$ns" link set "$device" up
    # Offloads would put segments of up to 64 KB into the capture, which no link carries.
    ip netns exec "$ns" ethtool -K "$device" tso off gso off gro off tx off > /dev/null 2>&1
done
ip -n "$sender" route add default via 10.20.1.2
ip -n "$receiver" route add default via 10.20.2.2
ip netns exec "$router" sysctl -q -w net.ipv4.ip_forward=1
tc -n "$router" qdisc add dev r1 root handle 1: htb default 1
tc -n "$router" class add dev r1 parent 1: classid 1:1 htb rate 100mbit ceil 100mbit burst 3000 cburst 3000 quantum 1514
tc -n "$router" qdisc add dev r1 parent 1:1 pfifo limit 50

ip netns exec "$receiver" python3 - <<'PYTHON' &
"""Accepts connections and throws away what they bring."""
import socket
import threading

server = socket.create_server(("10.20.2.1", 5001), backlog=256)


def drain(connection):
    with connection:
        while connection.recv(1 << 16):
            pass


while True:
    threading.Thread(target=drain, args=(server.accept()[0],), daemon=True).start()
PYTHON

ip netns exec "$router" tcpdump -i r0 -Q in -s 96 -B 16384 -n --time-stamp-precision=nano -w "$work/mix.pcap" tcp \
    2> "$work/tcpdump.log" &
capture=$!
sleep 1

ip netns exec "$sender" python3 - <<'PYTHON'
"""Starts 60 flows over three seconds: the same sizes and start times on every machine."""
import random
import socket
import threading
import time

SIZES = {0: 10_000, 10: 100_000, 20: 1_000_000, 30: 6_000_000}
draws = random.Random(1)
flows = [(0.0, 30), (0.5, 30), (1.0, 30)]
for dscp, count in ((0, 36), (10, 15), (20, 6)):
    flows += [(draws.uniform(0.1, 3.0), dscp) for _ in range(count)]
begin = time.monotonic()


def send(start, dscp):
    time.sleep(max(0.0, begin + start - time.monotonic()))
    with socket.socket() as flow:
        flow.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
        flow.connect(("10.20.2.1", 5001))
        flow.sendall(bytes(SIZES[dscp]))
        flow.shutdown(socket.SHUT_WR)
        flow.recv(1)


threads = [threading.Thread(target=send, args=flow) for flow in flows]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(timeout=60)
PYTHON

sleep 1
kill -INT "$capture"
wait "$capture" || true
cat "$work/tcpdump.log" >&2
mkdir -p "$(dirname "$out")"
gzip -9 -n < "$work/mix.pcap" > "$out.part"
mv "$out.part" "$out"
ls -l "$out"
