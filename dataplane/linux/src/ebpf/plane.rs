//! A program on an interface. The queues, the filter and the tracepoints are installed and removed together.

use super::flow_maps::FlowMaps;
use super::installed::{Installed, KernelPlane};
use super::intf::Config;
use super::loaded::Loaded;
use super::maps::Maps;
use super::program::Program;
use super::programs::fifo::Fifo;
use super::settings::{Occupancy, Settings};
use super::snapshot::{Snapshot, shown_parts};
use crate::net::filter;
use crate::net::interface::Interface;
use crate::net::tc::{self, QueueTree};
use crate::rank::RankSource;
use crate::{Error, Result};
use libbpf_rs::Link;
use pifolab_sched::params::Args;
use serde_json::Value;
use std::sync::OnceLock;

/// HTB has eight priorities.
const HTB_PRIORITIES: usize = 8;

/// The data plane to install, and its interface.
#[derive(Clone, Debug)]
pub struct PlaneConfig {
    /// The interface.
    pub interface: String,
    /// The new link rate.
    pub rate_bps: u64,
    /// The scheduler.
    pub settings: Settings,
    /// Whether each transmit queue has a scheduler of its own, and an equal part of the rate, under `mq`.
    pub per_queue: bool,
    /// Whether a foreign root qdisc may be removed.
    pub force: bool,
}

/// A program in front of its queues.
struct Scheduler {
    loaded: Loaded,
    /// The tracepoints, attached until these links are dropped.
    links: Vec<Link>,
    queues: QueueTree,
}

/// A data plane that works until it is dropped, which removes all of its parts.
pub struct Plane {
    /// Of the interface, or of each transmit queue.
    schedulers: Vec<Scheduler>,
    installed: Installed,
}

impl Plane {
    /// Installs the program in the namespace of the calling thread. Removes the remains of an earlier, crashed run
    /// first.
    ///
    /// # Errors
    /// If the user lacks the right, the interface does not exist, another data plane is alive, there is a foreign root
    /// qdisc, or the kernel lacks a feature.
    pub fn up(config: PlaneConfig) -> Result<Self> {
        let interface = Interface::find(&config.interface)?;
        if !interface.ethernet {
            return Err(Error::Unsupported(format!("--dev {}: it has no Ethernet header", interface.name)));
        }
        check_queues(&config.settings)?;
        let (per_queue, name) = (config.per_queue, config.settings.program.name());
        // From here on, dropping `installed` removes everything.
        let mut installed = Installed::claim(interface, name, "htb", per_queue, config.force)?;
        let rate_bps = config.rate_bps / installed.record.parts.len() as u64;
        let mut schedulers = Vec::new();
        for part in 0..installed.record.parts.len() {
            let mut settings = config.settings.clone();
            set_link(&mut settings, rate_bps, &installed, part);
            let queues = queue_tree(&settings, rate_bps, &installed);
            let loaded = Loaded::load(settings)?;
            installed.note(part, Some(loaded.filter_id()?), loaded.map_ids()?)?;
            schedulers.push(Scheduler { loaded, links: Vec::new(), queues });
        }
        installed.make_room()?;
        let Installed { namespace, interface, record, .. } = &installed;
        if per_queue {
            tc::install_qdisc(namespace, &interface.name, &record.root)?;
        }
        for (scheduler, part) in schedulers.iter_mut().zip(&record.parts) {
            scheduler.queues.install(namespace, &interface.name, &part.root, part.parent)?;
            scheduler.links = scheduler.loaded.attach_tracepoints()?;
            filter::attach(interface.index, part.root.handle, scheduler.loaded.filter(), name)?;
        }
        installed.note_complete()?;
        Ok(Self { schedulers, installed })
    }

    /// Changes the parameters of the scheduler, its queues and capacities, and the rate (`None`: unchanged). Registers,
    /// window, flows, statistics and queued packets remain. Either the old or the new program decides about each
    /// packet.
    ///
    /// # Errors
    /// If the change requires a restart (another scheduler or rank source, or capacities in bytes instead of packets),
    /// a leaf was replaced, or the kernel refuses. Then nothing is changed.
    pub fn change(&mut self, settings: Settings, rate_bps: Option<u64>) -> Result<()> {
        let parts = self.schedulers.len();
        let rate_bps = rate_bps.map(|rate| rate / parts as u64);
        for part in 0..parts {
            let old: Vec<_> =
                self.schedulers[..part].iter().map(|one| (one.loaded.settings.clone(), one.queues.rate_bps)).collect();
            self.change_part(part, settings.clone(), rate_bps).inspect_err(|_| {
                for (part, (settings, rate_bps)) in old.into_iter().enumerate() {
                    // If the restore fails, no other remedy exists.
                    let _ = self.change_part(part, settings, Some(rate_bps));
                }
            })?;
        }
        Ok(())
    }

    fn change_part(&mut self, part: usize, mut settings: Settings, rate_bps: Option<u64>) -> Result<()> {
        let Scheduler { loaded, queues: old_queues, .. } = &self.schedulers[part];
        let old = &loaded.settings;
        let shape = |settings: &Settings| {
            let Config { occupancy, rank_source, payload_offset, payload_width, not_ip_share, .. } = settings.config;
            (settings.program, [occupancy, rank_source, payload_offset, payload_width, not_ip_share])
        };
        let fixed =
            |what: &str| Error::Unsupported(format!("{what} cannot change while it is up; take it down for that"));
        if shape(old) != shape(&settings) {
            return Err(fixed("the scheduler, --rank, --rank-not-ip and --occupancy-from"));
        }
        if old.in_bytes() != settings.in_bytes() {
            // Leaves of another kind would replace those that hold packets.
            return Err(fixed("capacities from packets to bytes, or back,"));
        }
        check_queues(&settings)?;
        let weighted = old.config.weighted;
        let rate_bps = rate_bps.unwrap_or(old_queues.rate_bps);
        set_link(&mut settings, rate_bps, &self.installed, part);
        settings.config.weighted = weighted;
        let new = Loaded::load_in_place_of(loaded, settings)?;
        let mut queues = queue_tree(&new.settings, rate_bps, &self.installed);
        queues.made = queues.made.max(old_queues.made);
        let installed = &mut self.installed;
        let root = &installed.record.parts[part].root;
        let (index, handle) = (installed.interface.index, root.handle);
        if queues != *old_queues {
            queues.change(old_queues, &installed.namespace, &installed.name_now()?, root)?;
            self.schedulers[part].queues = queues;
        }
        // Both programs' tracepoints count for a moment. The counters are then corrected from the qdisc's values.
        let links = new.attach_tracepoints()?;
        filter::replace(index, handle, new.filter(), new.settings.program.name())?;
        installed.note(part, Some(new.filter_id()?), new.map_ids()?)?;
        installed.note_complete()?;
        let scheduler = &mut self.schedulers[part];
        (scheduler.links, scheduler.loaded) = (links, new);
        Ok(())
    }

    /// The occupancies and counters of the first scheduler: that of the interface, or of its transmit queue 0.
    ///
    /// # Errors
    /// If the kernel cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let Installed { namespace, record, .. } = &self.installed;
        let loaded = self.loaded();
        let queues = loaded.settings.capacities.len();
        let leaves = tc::leaves(namespace, &self.installed.name_now()?, &record.parts[0].root, queues)?;
        Snapshot::read(loaded.settings.program, loaded, &leaves)
    }

    /// The program of the first scheduler.
    pub fn loaded(&self) -> &Loaded {
        &self.schedulers[0].loaded
    }
}

impl KernelPlane for Plane {
    fn installed(&mut self) -> &mut Installed {
        &mut self.installed
    }

    fn queues(&self) -> usize {
        self.loaded().settings.capacities.len()
    }

    fn flow_maps(&self) -> Result<Vec<FlowMaps>> {
        self.schedulers.iter().map(|scheduler| scheduler.loaded.flow_maps()).collect()
    }

    fn change(&mut self, settings: Settings, rate_bps: u64) -> Result<()> {
        Self::change(self, settings, Some(rate_bps))
    }

    fn shown(&self) -> Result<(Value, String)> {
        let Installed { namespace, record, .. } = &self.installed;
        let program = self.loaded().settings.program;
        let parts = record.parts.iter().zip(&self.schedulers);
        let parts: Vec<_> = parts.map(|(part, scheduler)| (part, &scheduler.loaded as &dyn Maps)).collect();
        shown_parts(program, namespace, &self.installed.name_now()?, &parts)
    }
}

/// The queues in the kernel.
fn queue_tree(settings: &Settings, rate_bps: u64, installed: &Installed) -> QueueTree {
    QueueTree {
        rate_bps,
        burst_bytes: settings.config.burst,
        frame_bytes: installed.interface.frame_bytes(),
        capacities: settings.config.capacity[..settings.capacities.len()].to_vec(),
        made: settings.capacities.len(),
        in_bytes: settings.in_bytes(),
        not_ip_share: settings.config.not_ip_share,
    }
}

/// Checks the limits of HTB.
fn check_queues(settings: &Settings) -> Result<()> {
    let queues = settings.capacities.len();
    if queues > HTB_PRIORITIES {
        return Err(Error::Unsupported(format!(
            "queues = {queues}: the kernel's HTB has {HTB_PRIORITIES} priorities; expected at most that many"
        )));
    }
    if settings.config.capacity.iter().any(|capacity| *capacity > u64::from(u32::MAX)) {
        return Err(Error::Unsupported("the kernel's queues hold at most 2^32 - 1 bytes".to_owned()));
    }
    Ok(())
}

/// Sets the parameters of the link, and the identity of the qdisc of scheduler `part`.
pub(super) fn set_link(settings: &mut Settings, rate_bps: u64, installed: &Installed, part: usize) {
    let part = &installed.record.parts[part];
    settings.config.netns = installed.namespace.inode();
    settings.config.ifindex = installed.interface.index;
    settings.config.root_handle = part.root.handle;
    settings.config.per_queue = part.parent.is_some().into();
    // Bytes per nanosecond with 20 fractional bits, for the virtual clock.
    settings.config.rate = ((u128::from(rate_bps) << 20) / 8_000_000_000) as u64;
    // Two frames, or the bytes that the link sends in 120 us, the time of a 1500-byte frame at 100 Mb/s.
    settings.config.burst = (2 * u64::from(installed.interface.frame_bytes())).max(rate_bps / 8 * 120 / 1_000_000);
}

/// The best source of occupancies on this machine, tested with the smallest program.
pub fn best_occupancy() -> Occupancy {
    static BEST: OnceLock<Occupancy> = OnceLock::new();
    *BEST.get_or_init(|| match try_occupancy(Occupancy::Walk) {
        // If the user may not load programs, loading the requested program returns the error.
        Ok(()) | Err(Error::Denied(_)) => Occupancy::Walk,
        Err(_) => Occupancy::Clock,
    })
}

/// Loads the smallest program with a source of occupancies.
pub fn try_occupancy(occupancy: Occupancy) -> Result<()> {
    let load = || {
        let args = Args::new((&Fifo as &dyn Program).name());
        Loaded::load(Settings::of(&Fifo, args, RankSource::Dscp, occupancy)?).map(drop)
    };
    match load() {
        Err(Error::Failed(_)) if occupancy == Occupancy::Walk => {
            // HTB, with its types, may be a module that is not loaded.
            let _ = tc::try_qdisc("htb");
            load()
        }
        result => result,
    }
}
