//! The ports of a network.

use super::config::{PortConfig, PortInfo, QueueDiscipline};
use super::error::ConfigError;
use super::queue::Queue;
use super::topology::Link;
use crate::port::{self, WireTime};
use pifolab_sched::{Capacity, Handle};

pub(super) type Port = port::Port<Queue>;

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Port>() == 256 && std::mem::offset_of!(Port, queue) == 64 && size_of::<Queue>() == 96);

/// The port `number` as it is configured. `watched`: somebody wants to see whole packets.
pub(super) fn port(
    config: &PortConfig,
    number: u32,
    link: Link,
    hosts: u32,
    watched: bool,
    wire_time: WireTime,
) -> Result<Port, ConfigError> {
    let info = PortInfo { port: number, from: link.from, to: link.to, rate: link.rate };
    let mut queue = Queue::new(config, &info, watched)?;
    let (most_packets, most_bytes) = match config.discipline {
        QueueDiscipline::DropTail(Capacity::Packets(packets)) => (packets, u64::MAX),
        QueueDiscipline::DropTail(Capacity::Bytes(bytes)) => (u32::MAX, bytes),
        QueueDiscipline::DropTail(Capacity::Unlimited) | QueueDiscipline::Scheduler(_) => (u32::MAX, u64::MAX),
    };
    let (passes_below, wants_hints, may_mark) =
        (queue.passes_below(config.idle), queue.wants_hints(), queue.may_mark());
    let mut port = Port::new(queue, link);
    port.ecn_threshold = config.ecn_threshold_bytes.unwrap_or(u64::MAX);
    port.ecn_threshold_packets = config.ecn_threshold_packets.unwrap_or(u32::MAX);
    port.passes_below = u32::try_from(passes_below).unwrap_or(u32::MAX);
    port.idle = config.idle;
    port.at_host = link.from < hosts;
    port.wants_hints = wants_hints;
    port.may_mark = may_mark;
    port.set_service(config.in_service_occupies_buffer, wire_time);
    (port.cold.most_packets, port.cold.most_bytes) = (most_packets, most_bytes);
    Ok(port)
}

/// Takes the next packet of a port, where handles are stored.
#[inline(always)]
pub(super) fn take_next(port: &mut Port) -> Handle {
    let next = port.queue.pop();
    port.leave(next.size);
    next
}
