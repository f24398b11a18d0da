//! One loaded program: its maps, its registers, its statistics.

use super::flow_maps::{self, FlowMaps};
use super::intf::{CLASSIFIED, Config, Harness, Shared, Stats};
use super::maps::{CONFIG, Maps, STATS};
use super::program::STATE;
use super::settings::{Occupancy, Settings};
use crate::error::Trying;
use crate::rank::table::Table;
use crate::{Error, Result};
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions, ProgramInfo};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, PrintLevel, ProgramInput};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, Once};

// The names of the maps of every program. libbpf names a map of global data by its section.
const HARNESS: &str = ".data.harness";
/// The map of the kernel's leaves.
const LEAVES: &str = ".data.leaves";
/// The prefix of sections with frozen data.
const FROZEN: &str = ".rodata";

/// The last messages of libbpf. Its error values are only numbers; the messages contain the reason.
static MESSAGES: Mutex<String> = Mutex::new(String::new());

fn keep(_level: PrintLevel, message: String) {
    if let Ok(mut messages) = MESSAGES.lock() {
        messages.push_str(&message);
    }
}

/// Runs `action` and adds libbpf's messages to its error.
pub(super) fn with_messages<T>(what: &str, action: impl FnOnce() -> libbpf_rs::Result<T>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Warn, keep)));
    });
    if let Ok(mut messages) = MESSAGES.lock() {
        messages.clear();
    }
    action().map_err(|error| {
        let said = MESSAGES.lock().map(|messages| messages.trim().to_owned()).unwrap_or_default();
        match error.kind() {
            // The verifier refuses with the same error code, but with a log. Without a log, libbpf's guess is
            // irrelevant. Without CAP_PERFMON the verifier also refuses, by the rules for unprivileged programs.
            libbpf_rs::ErrorKind::PermissionDenied if !said.contains("PROG LOAD LOG") || said.contains("!root") => Error::Denied(format!(
                "{what}: {error}: loading eBPF programs requires root (or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON); the \
                 user-space switch works without: pifolab dataplane switch"
            )),
            _ if said.is_empty() => Error::failed(what, error),
            _ => Error::failed(what, format!("{error}\n{said}")),
        }
    })
}

/// A program in the kernel.
pub struct Loaded {
    object: Object,
    /// The settings of the program.
    pub settings: Settings,
}

/// The decision of a program about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The queue that stores the packet, or that was full.
    pub queue: u32,
    /// The packet's rank; 0 for a frame that is not IP.
    pub rank: u64,
    /// The reason of a drop; `None` if the packet is admitted.
    pub drop: Option<pifolab_sched::DropReason>,
}

impl Loaded {
    /// Loads the program.
    ///
    /// # Errors
    /// If the user lacks the right, or the kernel refuses the program; the message contains the verifier's reason.
    pub fn load(settings: Settings) -> Result<Self> {
        let object = settings.program.filter().expect("settings are of a filter");
        Self::load_object(settings, object)
    }

    /// Loads the program from `object`, which another compiler may have built.
    pub(super) fn load_object(settings: Settings, object: &[u8]) -> Result<Self> {
        Self::load_sharing(settings, object, None)
    }

    /// Loads the program with the maps of another object, except frozen maps, the map of leaves, and, if the flag is
    /// set, registers.
    fn load_sharing(settings: Settings, object: &[u8], with: Option<(&Object, bool)>) -> Result<Self> {
        let what = format!("loading the eBPF program of {}", settings.program.name());
        let mut builder = ObjectBuilder::default();
        builder.name(settings.program.kernel_name()).trying(|| what.clone())?;
        let mut open = with_messages(&what, || builder.open_memory(object))?;
        if let Some(name) = settings.memory.names().find(|name| open.maps().all(|map| map.name() != *name)) {
            return Err(Error::failed(&what, format!("it has no {name}")));
        }
        for mut map in open.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            if let Some((other, fresh)) = with {
                let own = name.starts_with(FROZEN) || name == LEAVES || (fresh && name == STATE);
                if let Some(shared) = other.maps().find(|shared| !own && shared.name() == map.name()) {
                    map.reuse_fd(shared.as_fd()).trying(|| format!("{what}: sharing {name}"))?;
                    continue;
                }
            }
            let initial = match name.as_str() {
                CONFIG => Some(settings.config.bytes()),
                other => settings.memory.bytes(other),
            };
            // These maps need eight megabytes and are unused with carried ranks.
            let unused = match name.as_str() {
                "flows" => !settings.computes_ranks(),
                flow_maps::FLOWS | flow_maps::PREFIXES => !settings.looks_up(),
                _ => false,
            };
            if unused {
                map.set_max_entries(1).trying(|| what.clone())?;
            }
            if let Some(initial) = initial {
                map.set_initial_value(initial).trying(|| format!("{what}: {name} and its mirror differ in size"))?;
            }
        }
        let counts = settings.config.occupancy == Occupancy::Counters as u32;
        for mut program in open.progs_mut() {
            match program.name().to_str() {
                Some("count_enqueue") => program.set_autoload(counts),
                Some("count_dequeue") => program.set_autoload(counts || settings.needs_virtual_time()),
                _ => {}
            }
        }
        let object = with_messages(&what, || open.load())?;
        let loaded = Self { object, settings };
        if let Some(table) = loaded.settings.flow_table.clone().filter(|_| with.is_none()) {
            flow_maps_of(&loaded.object, Table::default())?.hold(table)?;
        }
        Ok(loaded)
    }

    /// Loads a program that replaces `old`, with its statistics, counters, flows and registers.
    pub(super) fn load_in_place_of(old: &Self, mut settings: Settings) -> Result<Self> {
        // Carried-over registers miss the packets that arrive before the new program is attached.
        let carried = settings.program.carry(old, &settings.memory, settings.capacities.len())?;
        let fresh = carried.is_some();
        if let Some(state) = carried {
            settings.memory.set(STATE, state);
        }
        let object = settings.program.filter().expect("settings are of a filter");
        Self::load_sharing(settings, object, Some((&old.object, fresh)))
    }

    /// The maps of `--rank table` and of weights.
    pub fn flow_maps(&self) -> Result<FlowMaps> {
        flow_maps_of(&self.object, self.settings.flow_table.clone().unwrap_or_default())
    }

    /// Attaches the loaded tracepoints; dropping the links detaches them.
    pub fn attach_tracepoints(&self) -> Result<Vec<Link>> {
        let tracepoints = self.object.progs_mut().filter(|program| program.name() != "classify" && program.autoload());
        tracepoints
            .map(|program| with_messages("attaching to the qdisc tracepoints", || program.attach_trace()))
            .collect()
    }

    /// The filter's file descriptor.
    ///
    /// # Panics
    /// Never, because every object contains the program.
    pub fn filter(&self) -> BorrowedFd<'_> {
        let program = self.object.progs().find(|program| program.name() == "classify").expect("every object has it");
        let fd = std::os::fd::AsRawFd::as_raw_fd(&program.as_fd());
        // SAFETY: the descriptor belongs to `self.object`, which outlives the borrow.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }

    /// The kernel's id of the filter.
    pub fn filter_id(&self) -> Result<u32> {
        libbpf_rs::Program::id_from_fd(self.filter()).trying(|| "asking the kernel about the filter".to_owned())
    }

    /// The kernel's data about the program `name`, with its translated instructions.
    pub fn info(&self, name: &str) -> Result<ProgramInfo> {
        let tried = || format!("asking the kernel about the program {name}");
        let program = self.object.progs().find(|program| program.name() == name && program.autoload());
        let program = program.ok_or_else(|| Error::failed(tried(), "it is not loaded"))?;
        let id = libbpf_rs::Program::id_from_fd(program.as_fd()).trying(tried)?;
        let options = ProgInfoQueryOptions::default().include_xlated_prog_insns(true).include_jited_prog_insns(true);
        ProgInfoIter::with_query_opts(options)
            .find(|info| info.id == id)
            .ok_or_else(|| Error::failed(tried(), "it is gone"))
    }

    /// The kernel's ids of the maps that `read` accepts, with their names.
    pub fn map_ids(&self) -> Result<Vec<(String, u32)>> {
        ids_of(&self.object)
    }

    /// Reads a map of global data.
    pub fn get<T: Shared>(&self, name: &str) -> Result<T> {
        (self as &dyn Maps).get(name)
    }

    fn put<T: Shared>(&self, name: &str, value: &T) -> Result<()> {
        let map =
            self.object.maps().find(|map| map.name() == name).ok_or_else(|| Error::Failed(format!("no map {name}")))?;
        map.update(&0u32.to_ne_bytes(), value.bytes(), MapFlags::ANY).trying(|| format!("writing {name}"))
    }

    /// Sets the occupancies of the program's queues (with [`Occupancy::Harness`]).
    pub fn set_used(&self, harness: &Harness) -> Result<()> {
        self.put(HARNESS, harness)
    }

    /// Runs the program on one frame of `bytes` on the wire, outside of a qdisc.
    pub fn test(&self, frame: &[u8], bytes: u32) -> Result<Decision> {
        self.test_marked(frame, bytes, 0)
    }

    /// Like [`test`](Self::test), for a packet with a mark.
    pub fn test_marked(&self, frame: &[u8], bytes: u32, mark: u32) -> Result<Decision> {
        let tried = || "running the program on a test packet".to_owned();
        let mut context = SkBuff { wire_len: bytes, ..SkBuff::zeroed() };
        context.len_to_priority[2] = mark;
        let mut out = [0u8; size_of::<SkBuff>()];
        let program =
            self.object.progs_mut().find(|program| program.name() == "classify").expect("every object has it");
        // SAFETY: `SkBuff` is plain data without padding, and nothing else refers to `context`.
        let context_in =
            unsafe { std::slice::from_raw_parts_mut((&raw mut context).cast::<u8>(), size_of::<SkBuff>()) };
        let input = ProgramInput {
            context_in: Some(context_in),
            context_out: Some(&mut out),
            data_in: Some(frame),
            ..ProgramInput::default()
        };
        let verdict = program.test_run(input).trying(tried)?.return_value;
        let result = SkBuff::from_bytes(&out).expect("the array has its size");
        if result.cb[0] & 0xFFFF_0000 != CLASSIFIED {
            return Err(Error::failed(tried(), "it did not classify the packet"));
        }
        let drop = match result.cb[3] {
            0 => None,
            1 => Some(pifolab_sched::DropReason::Admission),
            _ => Some(pifolab_sched::DropReason::Full),
        };
        // TC_ACT_OK and TC_ACT_SHOT.
        if (verdict == 0, verdict == 2) != (drop.is_none(), drop.is_some()) {
            return Err(Error::failed(tried(), format!("it returned {verdict} although it said {drop:?}")));
        }
        let rank = u64::from(result.cb[1]) << 32 | u64::from(result.cb[2]);
        Ok(Decision { queue: result.cb[0] & 0xFFFF, rank, drop })
    }

    /// Runs the program on one frame `repeat` times, and returns the mean nanoseconds per run.
    pub fn time(&self, frame: &[u8], repeat: u32) -> Result<u64> {
        let program =
            self.object.progs_mut().find(|program| program.name() == "classify").expect("every object has it");
        let input = ProgramInput { data_in: Some(frame), repeat, ..ProgramInput::default() };
        let output = program.test_run(input).trying(|| "timing the program".to_owned())?;
        Ok(output.duration.as_nanos() as u64)
    }

    /// The registers of the scheduler.
    pub fn state<T: Shared>(&self) -> Result<T> {
        self.get(STATE)
    }

    /// The counters.
    pub fn stats(&self) -> Result<Stats> {
        self.get(STATS)
    }

    /// The configuration of the program.
    pub const fn config(&self) -> &Config {
        &self.settings.config
    }
}

/// The kernel's ids of an object's maps of global data, with their names.
pub(super) fn ids_of(object: &Object) -> Result<Vec<(String, u32)>> {
    let maps = object.maps().filter(|map| map.name().to_string_lossy().starts_with('.'));
    maps.map(|map| {
        let info = libbpf_rs::MapInfo::new(map.as_fd()).trying(|| "asking the kernel about a map".to_owned())?;
        Ok((map.name().to_string_lossy().into_owned(), info.info.id))
    })
    .collect()
}

/// The maps of the table, with `held` as their contents.
pub(super) fn flow_maps_of(object: &Object, held: Table) -> Result<FlowMaps> {
    let handle = |name: &str| {
        let map = object.maps().find(|map| map.name() == name);
        let map = map.ok_or_else(|| Error::Failed(format!("no map {name}")))?;
        MapHandle::try_from(&map).trying(|| format!("opening {name}"))
    };
    Ok(FlowMaps::new(handle(flow_maps::FLOWS)?, handle(flow_maps::PREFIXES)?, held))
}

/// The maps of an object in this process.
pub(super) struct Source<'a>(pub &'a Object);

/// Maps by the kernel's ids, with their names.
pub(crate) struct Numbered<'a>(pub &'a [(String, u32)]);

impl Maps for Numbered<'_> {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let entry = self.0.iter().find(|(known, _)| known == name);
        let (_, id) = entry.ok_or_else(|| Error::Failed(format!("no map {name}")))?;
        read_by_id(*id, name)
    }
}

impl Maps for Source<'_> {
    fn has(&self, name: &str) -> bool {
        self.0.maps().any(|map| map.name() == name)
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let map = self.0.maps().find(|map| map.name() == name);
        read(&map.ok_or_else(|| Error::Failed(format!("no map {name}")))?, name)
    }
}

impl Maps for Loaded {
    fn has(&self, name: &str) -> bool {
        Source(&self.object).has(name)
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        Source(&self.object).bytes(name)
    }
}

/// Reads a map of global data through any kind of handle.
fn read(map: &impl MapCore, name: &str) -> Result<Vec<u8>> {
    let bytes = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).trying(|| format!("reading {name}"))?;
    bytes.ok_or_else(|| Error::Failed(format!("{name} is empty")))
}

/// Reads a map that another process loaded.
pub(super) fn read_by_id(id: u32, name: &str) -> Result<Vec<u8>> {
    let map = MapHandle::from_map_id(id).map_err(|error| match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => Error::Denied(format!(
            "reading {name}: the kernel opens maps of another process only for CAP_SYS_ADMIN, which root has"
        )),
        _ => Error::failed(format!("opening {name}"), error),
    })?;
    read(&map, name)
}

/// The part of `struct __sk_buff` that test runs use.
#[derive(Clone, Copy)]
#[repr(C)]
struct SkBuff {
    len_to_priority: [u32; 11],
    tc_index: u32,
    cb: [u32; 5],
    hash_to_tstamp: [u32; 23],
    wire_len: u32,
    gso_segs: u32,
    sk: u64,
    gso_size: u32,
    rest: [u32; 3],
}

// SAFETY: repr(C) integers; 42 words before `sk` leave no padding.
unsafe impl Shared for SkBuff {}
