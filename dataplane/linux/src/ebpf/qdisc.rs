//! Schedulers that are qdiscs (BPF qdisc: Linux >= 6.16 with CONFIG_NET_SCH_BPF): those whose programs are filters, with
//! the same decisions over queues of their own, and the ideal PIFO, which strict-priority queues cannot implement. The
//! qdiscs hold the packets, order them, and keep the rate of the link, without HTB.

use super::flow_maps::{self, FlowMaps};
use super::installed::{Installed, KernelPlane, shown};
use super::intf::{Config, Held, QdiscStats, Shared};
use super::loaded::{self, Source, flow_maps_of, with_messages};
use super::maps::{CONFIG, Maps, QueueSnapshot, STATS};
use super::plane::set_link;
use super::program::Program;
use super::programs::find_qdisc;
use super::reader::wrong;
use super::settings::{Occupancy, Settings};
use crate::error::Trying;
use crate::net::interface::Interface;
use crate::net::namespace::NetNamespace;
use crate::net::tc;
use crate::rank::table::Table;
use crate::rank::{RankOptions, RankSource};
use crate::{Error, Result};
use libbpf_rs::{Link, MapCore, Object, ObjectBuilder};
use pifolab_registry::find_scheduler;
use pifolab_sched::params::Args;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// The largest number of packets in a qdisc: `MAX_HELD` of intf.h.
const MAX_HELD: u64 = 1024;
/// The map of the queues, which PIFO does not have.
const HELD: &str = ".data.held";
/// The shortest frame, to compute the number of packets in a capacity in bytes.
const SHORTEST_FRAME: u64 = 42;

/// The compiled qdisc.
pub(super) fn object(program: &dyn Program) -> Result<&'static [u8]> {
    let object = program.qdisc().filter(|object| !object.is_empty());
    object.ok_or_else(|| {
        Error::Unsupported(format!(
            "this program was built without the BPF qdiscs ({}), which need clang 17 or later: install clang-19 and build again",
            program.name()
        ))
    })
}

/// Checks in the kernel's types whether it has BPF qdiscs.
pub fn supported() -> std::result::Result<String, String> {
    const TYPES: &str = "/sys/kernel/btf/vmlinux";
    const MARK: &[u8] = b"bpf_struct_ops_Qdisc_ops";
    let types = std::fs::read(TYPES).map_err(|error| format!("{TYPES}: {error}"))?;
    if types.windows(MARK.len()).any(|window| window == MARK) {
        Ok("CONFIG_NET_SCH_BPF".to_owned())
    } else {
        Err("this kernel has no BPF qdisc (Linux >= 6.16 with CONFIG_NET_SCH_BPF)".to_owned())
    }
}

/// The qdisc to install, and its interface.
#[derive(Clone, Debug)]
pub struct QdiscConfig {
    /// The interface.
    pub interface: String,
    /// The new link rate.
    pub rate_bps: u64,
    /// A scheduler with a qdisc.
    pub scheduler: String,
    /// The parameters of the library.
    pub args: Args,
    /// The source of ranks: carried ranks, or a table.
    pub rank: RankSource,
    /// The options for packets without a rank.
    pub rank_options: RankOptions,
    /// Whether a foreign root qdisc may be removed.
    pub force: bool,
}

/// A qdisc that works until it is dropped, which removes it.
pub struct QdiscPlane {
    /// Dropped first: removes the interface's qdisc before the kernel unloads its kind.
    installed: Installed,
    _links: Vec<Link>,
    object: Object,
    program: &'static dyn Program,
    queues: usize,
    flow_table: Table,
}

/// The program and its configuration, checked by the library, with the initial registers.
fn settings(config: &QdiscConfig) -> Result<Settings> {
    let entry = find_scheduler(&config.scheduler).map_err(Error::Usage)?;
    let program = find_qdisc(entry.info.name)?;
    object(program)?;
    entry.build(config.args.clone()).map_err(wrong)?;
    if matches!(config.rank, RankSource::Las | RankSource::Stfq) {
        let message = format!(
            "--rank {}: a BPF qdisc takes ranks that packets carry, or a table's: dscp, payload, vlan, mpls, mark or table",
            config.rank
        );
        return Err(Error::Unsupported(message));
    }
    let settings = Settings::of(program, config.args.clone(), config.rank, Occupancy::Harness)?;
    let settings = settings.with_ranks(config.rank, &config.rank_options, None)?;
    let most = settings_hold(&settings);
    if most > MAX_HELD {
        return Err(Error::Unsupported(format!(
            "capacity: a BPF qdisc holds at most {MAX_HELD} packets, and {most} may come together; give a smaller one"
        )));
    }
    Ok(settings)
}

fn settings_hold(settings: &Settings) -> u64 {
    if settings.in_bytes() { settings.config.total.div_ceil(SHORTEST_FRAME) } else { settings.config.total }
}

/// Loads the programs of a qdisc of kind `kind`. The qdisc exists after they are attached.
fn load(settings: &Settings, kind: &str, object: &[u8]) -> Result<Object> {
    let what = format!("loading the BPF qdisc of {}", settings.program.name());
    let mut builder = ObjectBuilder::default();
    builder.name(settings.program.kernel_name()).trying(|| what.clone())?;
    let mut open = with_messages(&what, || builder.open_memory(object))?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        match name.as_str() {
            CONFIG => map.set_initial_value(settings.config.bytes()).trying(|| format!("{what}: {name}"))?,
            flow_maps::FLOWS | flow_maps::PREFIXES if !settings.looks_up() => {
                map.set_max_entries(1).trying(|| what.clone())?;
            }
            other => {
                if let Some(initial) = settings.memory.bytes(other) {
                    map.set_initial_value(initial).trying(|| format!("{what}: {name}"))?;
                }
            }
        }
        if map.map_type() == libbpf_rs::MapType::StructOps {
            let operations = map.initial_value_mut().ok_or_else(|| Error::failed(&what, "no table of operations"))?;
            let id = &mut operations[..16];
            id.fill(0);
            id[..kind.len()].copy_from_slice(kind.as_bytes());
        }
    }
    with_messages(&what, || open.load())
}

/// Loads and unloads the programs of a qdisc.
pub(super) fn try_to_load(program: &'static dyn Program, rank: RankSource, object: &[u8]) -> Result<()> {
    let mut settings = Settings::of(program, Args::new(program.name()), rank, Occupancy::Harness)?;
    // The rate is a divisor.
    settings.config.rate = 1 << 20;
    load(&settings, "pifolab_try", object).map(drop)
}

impl QdiscPlane {
    /// Installs the qdisc in the namespace of the calling thread. Removes the remains of an earlier, crashed run first.
    ///
    /// # Errors
    /// If a parameter is invalid or unsupported, the kernel has no BPF qdiscs, the user lacks the right, the interface
    /// does not exist, another data plane is alive, or there is a foreign root qdisc.
    pub fn up(config: QdiscConfig) -> Result<Self> {
        let mut settings = settings(&config)?;
        let program = settings.program;
        supported().map_err(|reason| Error::Unsupported(format!("{reason}; --qdisc htb works here")))?;
        let interface = Interface::find(&config.interface)?;
        let what = format!("loading the BPF qdisc of {}", program.name());
        // Kinds belong to the whole kernel, not to the interface, so each process needs a unique kind.
        let kind = format!("{}{:x}", tc::QDISC_PREFIX, std::process::id());
        // From here on, dropping `installed` removes everything.
        let mut installed = Installed::claim(interface, program.name(), &kind, false, config.force)?;
        set_link(&mut settings, config.rate_bps, &installed, 0);
        let mut object = load(&settings, &kind, object(program)?)?;
        if let Some(table) = settings.flow_table.clone() {
            flow_maps_of(&object, Table::default())?.hold(table)?;
        }
        installed.note(0, None, loaded::ids_of(&object)?)?;
        let mut links = Vec::new();
        for mut map in object.maps_mut() {
            if map.map_type() == libbpf_rs::MapType::StructOps {
                links.push(with_messages(&what, || map.attach_struct_ops())?);
            }
        }
        installed.make_room()?;
        tc::install_qdisc(&installed.namespace, &installed.interface.name, &installed.record.root)?;
        installed.note_complete()?;
        let queues = settings.capacities.len();
        let flow_table = settings.flow_table.unwrap_or_default();
        Ok(Self { installed, _links: links, object, program, queues, flow_table })
    }

    /// The occupancy and counters.
    pub fn snapshot(&self) -> Result<QdiscSnapshot> {
        let name = self.installed.name_now()?;
        QdiscSnapshot::read(self.program, &Source(&self.object), &self.installed.namespace, &name)
    }
}

impl KernelPlane for QdiscPlane {
    fn installed(&mut self) -> &mut Installed {
        &mut self.installed
    }

    fn queues(&self) -> usize {
        self.queues
    }

    fn flow_maps(&self) -> Result<Vec<FlowMaps>> {
        flow_maps_of(&self.object, self.flow_table.clone()).map(|maps| vec![maps])
    }

    fn change(&mut self, _: Settings, _: u64) -> Result<()> {
        Err(Error::Unsupported("the parameters of a BPF qdisc cannot be changed".to_owned()))
    }

    fn shown(&self) -> Result<(Value, String)> {
        self.snapshot().map(|snapshot| shown(&snapshot))
    }
}

/// A qdisc at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QdiscSnapshot {
    /// The scheduler's name in the library.
    pub scheduler: &'static str,
    /// The constant `bpf`.
    pub qdisc: &'static str,
    /// Packets admitted.
    pub admitted_packets: u64,
    /// Packets refused on arrival.
    pub dropped_packets: u64,
    /// Packets pushed out by packets of lower rank.
    pub evicted_packets: u64,
    /// IP packets without a rank, which got the rank of `--rank-missing`.
    pub unranked: u64,
    /// Frames of address resolution and neighbour discovery.
    pub neighbour: u64,
    /// Frames that are not IP.
    pub not_ip: u64,
    /// Dropped frames that are not IP, for which their share of the link had no room; part of the drops.
    pub dropped_not_ip: u64,
    /// Packets held.
    pub occupancy_packets: u64,
    /// Held frames that are not IP and wait for their share; part of the packets held.
    pub occupancy_not_ip: u64,
    /// Bytes held.
    pub occupancy_bytes: u64,
    /// The occupancy of each queue in packets, or in bytes if its capacity is in bytes, highest priority first; empty
    /// for PIFO, which has no queues.
    pub queues: Vec<u64>,
    /// The bound of each queue, if the scheduler has bounds.
    pub bounds: Option<Vec<i64>>,
}

impl QdiscSnapshot {
    pub(crate) fn read(
        program: &dyn Program,
        maps: &dyn Maps,
        namespace: &NetNamespace,
        interface: &str,
    ) -> Result<Self> {
        let config: Config = maps.get(CONFIG)?;
        let stats: QdiscStats = maps.get(STATS)?;
        let root = tc::root_counters(namespace, interface)?;
        let mut queues = vec![QueueSnapshot::default(); config.queues as usize];
        let held = maps.has(HELD).then(|| maps.get::<Held>(HELD)).transpose()?.map(|held| held.used);
        for ((queue, used), capacity) in queues.iter_mut().zip(held.into_iter().flatten()).zip(config.capacity) {
            (queue.occupancy, queue.capacity) = (used, capacity);
        }
        program.registers(maps, &mut queues)?;
        let bounds = queues.iter().map(|queue| queue.bound).collect();
        Ok(Self {
            scheduler: program.name(),
            qdisc: "bpf",
            admitted_packets: stats.admitted,
            dropped_packets: stats.dropped,
            evicted_packets: stats.evicted,
            unranked: stats.unranked,
            neighbour: stats.neighbour,
            not_ip: stats.other,
            dropped_not_ip: stats.share_dropped,
            occupancy_packets: root.packets,
            occupancy_not_ip: stats.share_held.iter().sum(),
            occupancy_bytes: root.bytes,
            queues: if held.is_some() { queues.iter().map(|queue| queue.occupancy).collect() } else { Vec::new() },
            bounds,
        })
    }
}

impl fmt::Display for QdiscSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  holds {} packets, {} bytes", self.occupancy_packets, self.occupancy_bytes)?;
        let Self { admitted_packets, dropped_packets, evicted_packets, .. } = self;
        writeln!(f, "  admitted {admitted_packets}, dropped {dropped_packets}, pushed out {evicted_packets}")?;
        let Self { unranked, neighbour, not_ip, dropped_not_ip, .. } = self;
        write!(
            f,
            "  without a rank {unranked}, ARP and neighbour discovery {neighbour}, not IP {not_ip}; of these two dropped \
             {dropped_not_ip}"
        )?;
        if !self.queues.is_empty() {
            write!(f, "\n  in each queue {:?}", self.queues)?;
        }
        match &self.bounds {
            Some(bounds) => write!(f, "\n  bounds {bounds:?}"),
            None => Ok(()),
        }
    }
}

#[cfg(all(test, bpf_qdisc))]
mod tests {
    use super::*;
    use pifolab_sched::params;

    fn refused(scheduler: &str, key: &str, value: i128, rank: RankSource) -> String {
        let mut args = Args::new(scheduler);
        if !key.is_empty() {
            args.set(key, params::Value::Integer(value));
        }
        let (interface, scheduler) = ("lo".to_owned(), scheduler.to_owned());
        let rank_options = RankOptions::default();
        let config = QdiscConfig { interface, rate_bps: 1_000_000, scheduler, args, rank, rank_options, force: false };
        settings(&config).map(drop).expect_err("refused").to_string()
    }

    #[test]
    fn what_a_qdisc_cannot_do_is_refused_with_what_it_can() {
        assert!(
            refused("drr", "", 0, RankSource::Dscp)
                .contains("no BPF qdisc of drr; expected pifo or fifo or sp-pifo or")
        );
        assert!(refused("pifo", "", 0, RankSource::Las).contains("dscp, payload"));
        assert!(refused("pifo", "capacity_packets", 2000, RankSource::Dscp).contains("at most 1024"));
        assert!(refused("pifo", "capacity_bytes", 1_000_000, RankSource::Dscp).contains("at most 1024"));
        assert!(refused("sp-pifo", "quues", 3, RankSource::Dscp).contains("quues"));
    }
}
