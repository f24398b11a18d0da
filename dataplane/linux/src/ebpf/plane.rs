//! A program on an interface: the queues, the filter and the tracepoints come and go together.

use super::flow_maps::FlowMaps;
use super::installed::{Installed, KernelPlane, shown};
use super::intf::Config;
use super::loaded::Loaded;
use super::program::Program;
use super::programs::fifo::Fifo;
use super::settings::{Occupancy, Settings};
use super::snapshot::Snapshot;
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

/// What to put on which interface.
#[derive(Clone, Debug)]
pub struct PlaneConfig {
    /// The interface.
    pub interface: String,
    /// Its link rate from now on.
    pub rate_bps: u64,
    /// The scheduler.
    pub settings: Settings,
    /// Whether a foreign root qdisc may be removed.
    pub force: bool,
}

/// A data plane that works until it is dropped; then everything that it put up is removed.
pub struct Plane {
    loaded: Loaded,
    /// The tracepoints stay attached as long as these live.
    links: Vec<Link>,
    queues: QueueTree,
    installed: Installed,
}

impl Plane {
    /// Puts the program up, in the namespace of the calling thread. What an earlier, crashed run left on the interface
    /// is removed first.
    ///
    /// # Errors
    /// No right to, no such interface, another data plane that lives, a foreign root qdisc; something that the kernel
    /// lacks.
    pub fn up(config: PlaneConfig) -> Result<Self> {
        let interface = Interface::find(&config.interface)?;
        if !interface.ethernet {
            return Err(Error::Unsupported(format!("--dev {}: it has no Ethernet header", interface.name)));
        }
        check_queues(&config.settings)?;
        let mut settings = config.settings;
        // From here on, dropping it removes everything.
        let mut installed = Installed::claim(interface, settings.program.name(), "htb", config.force)?;
        set_link(&mut settings, config.rate_bps, &installed);
        let queues = queue_tree(&settings, config.rate_bps, &installed);
        let loaded = Loaded::load(settings)?;
        installed.note(Some(loaded.filter_id()?), loaded.map_ids()?)?;
        installed.make_room()?;
        let root = &installed.record.root;
        queues.install(&installed.namespace, &installed.interface.name, root)?;
        let links = loaded.attach_tracepoints()?;
        filter::attach(installed.interface.index, root.handle, loaded.filter(), loaded.settings.program.name())?;
        installed.note_complete()?;
        Ok(Self { loaded, links, queues, installed })
    }

    /// Goes on with other parameters of the same scheduler, other queues, capacities, and another rate (`None`: the same).
    /// Registers, window, flows, statistics and the packets in the queues stay; every packet is decided by the old program or by
    /// the new one.
    ///
    /// # Errors
    /// What takes a new start: another scheduler or rank source, capacities in bytes in place of packets; somebody has replaced a
    /// leaf; the kernel refuses. Then all is as it was.
    pub fn change(&mut self, mut settings: Settings, rate_bps: Option<u64>) -> Result<()> {
        let old = &self.loaded.settings;
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
            // Leaves of another kind would take the place of those that hold packets.
            return Err(fixed("capacities from packets to bytes, or back,"));
        }
        check_queues(&settings)?;
        let weighted = old.config.weighted;
        let rate_bps = rate_bps.unwrap_or(self.queues.rate_bps);
        set_link(&mut settings, rate_bps, &self.installed);
        settings.config.weighted = weighted;
        let new = Loaded::load_in_place_of(&self.loaded, settings)?;
        let mut queues = queue_tree(&new.settings, rate_bps, &self.installed);
        queues.made = queues.made.max(self.queues.made);
        let installed = &mut self.installed;
        let (index, handle) = (installed.interface.index, installed.record.root.handle);
        if queues != self.queues {
            queues.change(&self.queues, &installed.namespace, &installed.name_now()?, &installed.record.root)?;
            self.queues = queues;
        }
        // Both programs' tracepoints count for a moment; the counters are set right from the qdisc's own then.
        let links = new.attach_tracepoints()?;
        filter::replace(index, handle, new.filter(), new.settings.program.name())?;
        installed.note(Some(new.filter_id()?), new.map_ids()?)?;
        installed.note_complete()?;
        (self.links, self.loaded) = (links, new);
        Ok(())
    }

    /// What it holds and has done.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let Installed { namespace, record, .. } = &self.installed;
        let queues = self.loaded.settings.capacities.len();
        let leaves = tc::leaves(namespace, &self.installed.name_now()?, &record.root, queues)?;
        Snapshot::read(self.loaded.settings.program, &self.loaded, &leaves)
    }

    /// The loaded program.
    pub const fn loaded(&self) -> &Loaded {
        &self.loaded
    }
}

impl KernelPlane for Plane {
    fn installed(&mut self) -> &mut Installed {
        &mut self.installed
    }

    fn queues(&self) -> usize {
        self.loaded.settings.capacities.len()
    }

    fn flow_maps(&self) -> Result<FlowMaps> {
        self.loaded.flow_maps()
    }

    fn change(&mut self, settings: Settings, rate_bps: u64) -> Result<()> {
        Self::change(self, settings, Some(rate_bps))
    }

    fn shown(&self) -> Result<(Value, String)> {
        self.snapshot().map(|snapshot| shown(&snapshot))
    }
}

/// The kernel's part of the queues.
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

/// Checks what HTB can do.
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

/// Fills in the link and whose it is.
pub(super) fn set_link(settings: &mut Settings, rate_bps: u64, installed: &Installed) {
    settings.config.netns = installed.namespace.inode();
    settings.config.ifindex = installed.interface.index;
    settings.config.root_handle = installed.record.root.handle;
    // Bytes per nanosecond with 20 fractional bits, for the virtual clock.
    settings.config.rate = ((u128::from(rate_bps) << 20) / 8_000_000_000) as u64;
    // Two frames, or what the link sends in 120 us, as long as one frame of 1500 bytes takes at 100 Mb/s.
    settings.config.burst = (2 * u64::from(installed.interface.frame_bytes())).max(rate_bps / 8 * 120 / 1_000_000);
}

/// The best way of knowing the occupancy that this machine has, tried with the smallest program.
pub fn best_occupancy() -> Occupancy {
    static BEST: OnceLock<Occupancy> = OnceLock::new();
    *BEST.get_or_init(|| match try_occupancy(Occupancy::Walk) {
        // A user who may not load programs is told so by the program that was asked for.
        Ok(()) | Err(Error::Denied(_)) => Occupancy::Walk,
        Err(_) => Occupancy::Clock,
    })
}

/// Loads the smallest program with a way of knowing the occupancy.
///
/// # Errors
/// The kernel refuses it, or no right to.
pub fn try_occupancy(occupancy: Occupancy) -> Result<()> {
    let load = || {
        let args = Args::new((&Fifo as &dyn Program).name());
        Loaded::load(Settings::of(&Fifo, args, RankSource::Dscp, occupancy)?).map(drop)
    };
    match load() {
        Err(Error::Failed(_)) if occupancy == Occupancy::Walk => {
            // HTB may be a module that is not there yet, and its types with it.
            let _ = tc::try_qdisc("htb");
            load()
        }
        result => result,
    }
}
