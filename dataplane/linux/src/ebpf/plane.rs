//! A program on an interface: the queues, the filter and the tracepoints come and go together.

use super::loaded::Loaded;
use super::settings::{Occupancy, Settings};
use super::snapshot::Snapshot;
use crate::net::filter;
use crate::net::interface::Interface;
use crate::net::namespace::NetNamespace;
use crate::net::tc::{self, QueueTree, Root};
use crate::record::Record;
use crate::{Error, Result};
use libbpf_rs::Link;

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
    _links: Vec<Link>,
    installed: Installed,
}

/// What has to be removed.
struct Installed {
    namespace: NetNamespace,
    interface: Interface,
    record: Record,
}

impl Plane {
    /// Puts the program up, in the namespace of the calling thread. What an earlier, crashed run left on the interface
    /// is removed first.
    ///
    /// # Errors
    /// No right to, no such interface, another data plane that lives, a foreign root qdisc; something that the kernel
    /// lacks.
    pub fn up(config: PlaneConfig) -> Result<Self> {
        let namespace = NetNamespace::current()?;
        let interface = Interface::find(&config.interface)?;
        if !interface.ethernet {
            return Err(Error::Unsupported(format!("--dev {}: it has no Ethernet header", interface.name)));
        }
        let settings = on_interface(config.settings, config.rate_bps, &interface, &namespace)?;
        let replace = make_way(&namespace, &interface, config.force)?;
        let queues = QueueTree {
            rate_bps: config.rate_bps,
            burst_bytes: settings.config.burst,
            frame_bytes: interface.frame_bytes(),
            capacities: settings.config.capacity[..settings.capacities.len()].to_vec(),
            in_bytes: settings.in_bytes(),
        };
        let loaded = Loaded::load(settings)?;
        let record = Record::new(&namespace, &interface, loaded.settings.program.name(), loaded.map_ids()?)?;
        record.write()?;
        // From here on, dropping it removes everything.
        let installed = Installed { namespace, interface, record };
        queues.install(&installed.namespace, &installed.interface.name, replace)?;
        let links = loaded.attach_tracepoints()?;
        filter::attach(installed.interface.index, loaded.filter(), loaded.settings.program.name())?;
        Ok(Self { loaded, _links: links, installed })
    }

    /// What it holds and has done.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let Installed { namespace, interface, .. } = &self.installed;
        let leaves = tc::leaves(namespace, &interface.name, self.loaded.settings.capacities.len())?;
        Snapshot::read(self.loaded.settings.program, &self.loaded, &leaves)
    }

    /// The loaded program.
    pub const fn loaded(&self) -> &Loaded {
        &self.loaded
    }
}

/// Fills in what depends on the interface, and checks what HTB can do.
fn on_interface(
    mut settings: Settings,
    rate_bps: u64,
    interface: &Interface,
    namespace: &NetNamespace,
) -> Result<Settings> {
    let queues = settings.capacities.len();
    if queues > HTB_PRIORITIES {
        return Err(Error::Unsupported(format!(
            "queues = {queues}: the kernel's HTB has {HTB_PRIORITIES} priorities; expected at most that many"
        )));
    }
    if settings.config.capacity.iter().any(|capacity| *capacity > u64::from(u32::MAX)) {
        return Err(Error::Unsupported("the kernel's queues hold at most 2^32 - 1 bytes".to_owned()));
    }
    set_link(&mut settings, rate_bps, interface, namespace);
    Ok(settings)
}

/// Fills in the link and whose it is.
pub(super) fn set_link(settings: &mut Settings, rate_bps: u64, interface: &Interface, namespace: &NetNamespace) {
    settings.config.netns = namespace.inode();
    settings.config.ifindex = interface.index;
    // Bytes per nanosecond with 20 fractional bits, for the virtual clock.
    settings.config.rate = ((u128::from(rate_bps) << 20) / 8_000_000_000) as u64;
    // Two frames, or what the link sends in 120 us, as long as one frame of 1500 bytes takes at 100 Mb/s.
    settings.config.burst = (2 * u64::from(interface.frame_bytes())).max(rate_bps / 8 * 120 / 1_000_000);
}

/// Removes what a dead process left on the interface; says whether a root qdisc is in the way and may be removed.
pub(super) fn make_way(namespace: &NetNamespace, interface: &Interface, force: bool) -> Result<bool> {
    if let Some(record) = Record::find(namespace, interface)? {
        if record.is_alive() {
            return Err(Error::Failed(format!(
                "{}: {} is up already (process {}); take it down first: pifolab dataplane down --dev {}",
                interface.name, record.scheduler, record.pid, interface.name
            )));
        }
        record.clean(namespace)?;
    }
    match tc::root_of(namespace, &interface.name)? {
        Root::Default => Ok(false),
        Root::Ours => Ok(true),
        Root::Foreign(_) if force => Ok(true),
        Root::Foreign(what) => Err(Error::Failed(format!(
            "{}: it has a root qdisc that is not ours ({what}), and I leave it alone; --force removes it",
            interface.name
        ))),
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        if let Err(error) = self.record.clean(&self.namespace) {
            eprintln!("pifolab: {}: {error}", self.interface.name);
        }
    }
}

/// The best way of knowing the occupancy that this machine has.
pub fn best_occupancy() -> Occupancy {
    // Reading the kernel's structs needs the kernel's own types.
    if std::path::Path::new("/sys/kernel/btf/vmlinux").exists() { Occupancy::Walk } else { Occupancy::Clock }
}
