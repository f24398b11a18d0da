//! From the library's names and parameters to what an eBPF program is loaded with.
//!
//! The library itself checks every parameter (it builds the scheduler once); here it is decided what the program can
//! do, and what can be computed beforehand is: thresholds, exponents, tables.

use super::intf::{Config, EMPTY_SLOT, EXPONENTS, ExpPifoState, ExpTable, MAX_QUEUES, MAX_WINDOW, Products, RifoState};
use super::intf::{Shared, SpPifoState, WindowState};
use crate::rank::table::{Table, Values};
use crate::rank::{NotIp, RankOptions, RankSource};
use crate::{Error, Result};
use pifolab_params::{Choice, FromValue};
use pifolab_registry::find_scheduler;
use pifolab_sched::params::{self, Args, FromArgs, Info, Param};
use pifolab_sched::schedulers::{
    AifoParams, Arithmetic, BetaRounding, BetaZero, Compare, ExpPifo, ExpPifoParams, FifoParams, Mapping, MappingKind,
    Occupancy as PacksOccupancy, OnFull, Order, PacksParams, PushDown, Quantile, Reset, RifoMode, RifoParams,
    SpPifoParams, Update,
};
use pifolab_sched::{Capacity, Inspect, Packet, Scheduler};
use pifolab_units::{Rank, Ratio, Time};
use std::fmt;
use std::path::Path;

/// The eBPF programs, one per scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// First in, first out.
    Fifo,
    /// SP-PIFO.
    SpPifo,
    /// AIFO.
    Aifo,
    /// PACKS.
    Packs,
    /// RIFO.
    Rifo,
    /// Exp-PIFO.
    ExpPifo,
}

impl Program {
    /// Every program.
    pub const ALL: [Self; 6] = [Self::Fifo, Self::SpPifo, Self::Aifo, Self::Packs, Self::Rifo, Self::ExpPifo];

    /// The scheduler's name in the library.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => FifoParams::INFO.name,
            Self::SpPifo => SpPifoParams::INFO.name,
            Self::Aifo => AifoParams::INFO.name,
            Self::Packs => PacksParams::INFO.name,
            Self::Rifo => RifoParams::INFO.name,
            Self::ExpPifo => ExpPifoParams::INFO.name,
        }
    }

    /// The program of the scheduler `name`.
    ///
    /// # Errors
    /// No such scheduler, or one without a program.
    pub fn find(name: &str) -> Result<Self> {
        find_scheduler(name).map_err(Error::Usage)?;
        Self::ALL.into_iter().find(|program| program.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::Unsupported(format!(
                "there is no eBPF program of {name} (there are {names}); the user-space switch runs it: pifolab dataplane switch"
            ))
        })
    }
}

/// How the program knows what the queues hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Occupancy {
    /// Counted by tracepoints at the qdisc's enqueue and dequeue, and set right when the qdisc disagrees
    Counters,
    /// Read from the kernel's leaf qdiscs at every packet: exact
    Walk,
    /// Reckoned from the link rate: a few packets off, needs nothing from the kernel
    Clock,
    /// Told by user space
    #[value(skip)]
    Harness,
}

impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counters => "counters",
            Self::Walk => "walk",
            Self::Clock => "clock",
            Self::Harness => "harness",
        })
    }
}

/// What a program is loaded with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which program.
    pub program: Program,
    /// Its frozen configuration; the interface's part is filled in when it is attached.
    pub config: Config,
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// Look-up tables, if the program has any.
    pub table: Option<Vec<u8>>,
    /// Registers as they start, if not all zero.
    pub state: Option<Vec<u8>>,
    /// Ranks of flows, or weights.
    pub flow_table: Option<Table>,
}

/// Reads parameters by the names of the library's table, each of which exists or the library has changed.
struct Reader {
    info: &'static Info,
    args: Args,
}

impl Reader {
    fn row(&self, name: &str) -> &'static Param {
        let row = self.info.params.iter().find(|param| param.name == name);
        row.unwrap_or_else(|| panic!("{} has no parameter {name}", self.info.name))
    }

    fn get<T: FromValue>(&mut self, name: &str) -> Result<Option<T>> {
        let row = self.row(name);
        self.args.get(row).map_err(wrong)
    }

    fn given<T: FromValue>(&mut self, name: &str) -> Result<T> {
        let row = self.row(name);
        self.args.given(row).map_err(wrong)
    }

    /// The program runs where packets are queued: it always knows the lengths of now.
    fn refuse_late_lengths(&mut self) -> Result<()> {
        match self.given::<u64>("occupancy_delay_packets")? {
            0 => Ok(()),
            _ => Err(self.unsupported("late queue lengths: occupancy_delay_packets = 0 is what it does")),
        }
    }

    fn unsupported(&self, what: impl fmt::Display) -> Error {
        Error::Unsupported(format!("{}: the eBPF program has no {what}", self.info.name))
    }
}

fn wrong(error: params::ParamError) -> Error {
    Error::Usage(error.to_string())
}

impl Settings {
    /// The settings of the scheduler `name` with the library's parameters `args`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a parameter that the library refuses, [`Error::Unsupported`] for one that the program
    /// cannot do.
    pub fn new(name: &str, args: Args, rank: RankSource, occupancy: Occupancy) -> Result<Self> {
        let program = Program::find(name)?;
        let entry = find_scheduler(name).map_err(Error::Usage)?;
        (entry.build)(args.clone()).map_err(wrong)?;
        let mut reader = Reader { info: entry.info, args };
        let capacities = match program {
            Program::Fifo | Program::Aifo | Program::Rifo => {
                vec![params::read_capacity(&mut reader.args).map_err(wrong)?]
            }
            Program::SpPifo | Program::Packs | Program::ExpPifo => {
                params::read_queue_capacities(&mut reader.args).map_err(wrong)?
            }
        };
        if capacities.len() > MAX_QUEUES {
            return Err(
                reader.unsupported(format!("more than {MAX_QUEUES} queues, and {} were asked for", capacities.len()))
            );
        }
        let mut settings =
            Self { program, config: Config::zeroed(), capacities, table: None, state: None, flow_table: None };
        settings.set_capacities();
        settings.set_rank(rank);
        settings.config.occupancy = occupancy as u32;
        match program {
            Program::Fifo => {}
            Program::SpPifo => settings.read_sp_pifo(&mut reader)?,
            Program::Aifo => settings.read_aifo(&mut reader)?,
            Program::Packs => settings.read_packs(&mut reader)?,
            Program::Rifo => settings.read_rifo(&mut reader)?,
            Program::ExpPifo => settings.read_exp_pifo(&mut reader)?,
        }
        Ok(settings)
    }

    /// Whether capacities and occupancies are in bytes.
    pub const fn in_bytes(&self) -> bool {
        self.config.in_bytes != 0
    }

    fn set_capacities(&mut self) {
        self.config.queues = self.capacities.len() as u32;
        for (slot, capacity) in self.config.capacity.iter_mut().zip(&self.capacities) {
            *slot = match *capacity {
                Capacity::Packets(packets) => packets.into(),
                Capacity::Bytes(bytes) => bytes,
                Capacity::Unlimited => unreachable!("text gives no unlimited capacity"),
            };
        }
        self.config.in_bytes = matches!(self.capacities[0], Capacity::Bytes(_)).into();
        self.config.total = self.config.capacity.iter().sum();
    }

    fn set_rank(&mut self, rank: RankSource) {
        // `enum pf_rank_source`.
        self.config.rank_source = match rank {
            RankSource::Dscp => 0,
            RankSource::Payload { offset, width } => {
                (self.config.payload_offset, self.config.payload_width) = (offset.into(), width.into());
                1
            }
            RankSource::Vlan => 2,
            RankSource::Mpls => 3,
            RankSource::Mark => 4,
            RankSource::Table => 5,
            RankSource::Las => 6,
            RankSource::Stfq => 7,
        };
        self.set_without_rank(rank, &RankOptions::default());
    }

    pub(super) fn set_without_rank(&mut self, rank: RankSource, options: &RankOptions) {
        let table = self.flow_table.as_ref();
        self.config.rank_missing = options.missing(rank, table).get();
        self.config.rank_not_ip = options.not_ip(rank, table).map_or(0, Rank::get);
        self.config.not_ip_share = match options.rank_not_ip {
            NotIp::Share(share) => share,
            NotIp::Rank(_) => 0,
        };
    }

    /// The same with what becomes of packets without a rank, the table of `--rank table`, and STFQ's weights.
    ///
    /// # Errors
    /// A file that is missing, wrong, or not wanted.
    pub fn with_ranks(mut self, rank: RankSource, options: &RankOptions, weights: Option<&Path>) -> Result<Self> {
        self.flow_table = options.read_table(Some(rank))?;
        if let Some(path) = weights {
            if rank != RankSource::Stfq {
                let message = format!("--flow-weights {}: it has an effect with --rank stfq only", path.display());
                return Err(Error::Usage(message));
            }
            self.flow_table = Some(Table::read(path, Values::Weights)?);
            self.config.weighted = 1;
        }
        self.set_without_rank(rank, options);
        Ok(self)
    }

    /// Whether ranks are computed per flow.
    pub const fn computes_ranks(&self) -> bool {
        self.config.rank_source >= 6
    }

    /// Whether the table of flows and prefixes is looked into.
    pub const fn looks_up(&self) -> bool {
        self.config.rank_source == 5 || self.config.weighted != 0
    }

    /// Whether the dequeue tracepoint is needed for ranks, too.
    pub const fn needs_virtual_time(&self) -> bool {
        self.config.rank_source == 7
    }

    fn read_sp_pifo(&mut self, reader: &mut Reader) -> Result<()> {
        self.config.push_down = reader.given::<PushDown>("push_down")?.code();
        self.config.update_on_full = (reader.given::<OnFull>("on_full")? == OnFull::Update).into();
        self.config.push_down_first = (reader.given::<Order>("order")? == Order::PushDownFirst).into();
        self.config.floor = reader.get("clamp")?.unwrap_or(i64::MIN);
        self.state = Some(SpPifoState::zeroed().bytes().to_vec());
        Ok(())
    }

    fn read_aifo(&mut self, reader: &mut Reader) -> Result<()> {
        if reader.given::<Arithmetic>("arithmetic")? != Arithmetic::Exact {
            return Err(reader.unsupported("floating-point arithmetic: arithmetic = exact is what it does"));
        }
        let target = reader.get(if self.in_bytes() { "target_bytes" } else { "target_packets" })?;
        let target = target.unwrap_or(self.config.total);
        let k: Ratio = reader.given("k")?;
        self.config.target = target;
        self.config.headroom = (u128::from(k.numerator()) * u128::from(target) / u128::from(k.denominator())) as u64;
        self.config.sample = reader.given("sample")?;
        self.config.strict = (reader.given::<Compare>("compare")? == Compare::Below).into();
        self.read_window(reader, k, target, 1)
    }

    fn read_packs(&mut self, reader: &mut Reader) -> Result<()> {
        let k: Ratio = reader.given("k")?;
        self.config.shift = reader.given("shift")?;
        let occupancy = reader.given::<PacksOccupancy>("occupancy")?;
        self.config.global_occupancy = (occupancy == PacksOccupancy::Global).into();
        self.config.fall_through = reader.given::<bool>("fall_through")?.into();
        let parts = if self.config.global_occupancy == 0 { 1 } else { self.config.queues.into() };
        self.read_window(reader, k, self.config.total, parts)
    }

    /// The window, and the quantile test over `total` units cut into `parts`.
    fn read_window(&mut self, reader: &mut Reader, k: Ratio, total: u64, parts: u64) -> Result<()> {
        reader.refuse_late_lengths()?;
        let window: u64 = reader.given("window")?;
        if window > MAX_WINDOW as u64 {
            return Err(
                reader.unsupported(format!("window of more than {MAX_WINDOW} ranks, and {window} were asked for"))
            );
        }
        // The largest product of the test: |W| * B * n * the denominator of k.
        let largest = u128::from(window) * u128::from(total) * u128::from(parts) * u128::from(k.denominator());
        if largest > u128::from(u64::MAX) {
            return Err(reader.unsupported(format!(
                "arithmetic beyond 64 bits: window {window} x capacity {total} x {parts} x denominator {} of k is too large",
                k.denominator()
            )));
        }
        self.config.window = window as u32;
        self.config.weight = total * parts * (k.denominator() - k.numerator());
        self.config.scale = k.denominator();
        self.config.lower_or_equal = (reader.given::<Quantile>("quantile")? == Quantile::LowerOrEqual).into();
        self.config.update_after = (reader.given::<Update>("update")? == Update::After).into();
        let mut state = WindowState::zeroed();
        state.ranks = [EMPTY_SLOT; MAX_WINDOW];
        let start: Vec<u64> = reader.get("start_window")?.unwrap_or_default();
        for (slot, rank) in state.ranks.iter_mut().zip(&start) {
            *slot = *rank;
        }
        state.held = start.len() as u32;
        state.next = if start.len() == window as usize { 0 } else { start.len() as u32 };
        state.highest = start.iter().max().copied().unwrap_or(0);
        self.state = Some(state.bytes().to_vec());
        Ok(())
    }

    fn read_rifo(&mut self, reader: &mut Reader) -> Result<()> {
        reader.refuse_late_lengths()?;
        let (k, total) = (reader.given::<Ratio>("k")?, u128::from(self.config.total));
        let (numerator, denominator) = (u128::from(k.numerator()), u128::from(k.denominator()));
        let sheltered = (denominator - numerator) * total;
        let mode: RifoMode = reader.given("mode")?;
        self.config.mode = mode.code();
        self.config.tracking_range = reader.given("tracking_range_packets")?;
        self.config.restart = reader.given("reset_counter")?;
        self.config.guaranteed = (numerator * total / denominator) as u64;
        if mode == RifoMode::Eq3 {
            self.config.sheltered = u64::try_from(sheltered).map_err(|_| {
                reader.unsupported(format!("arithmetic beyond 64 bits: capacity x {denominator} is too large"))
            })?;
            self.config.denominator = denominator as u64;
        }
        // (1-k)B as the nearest power of two, ties the lower one, at least 1; operands beyond 16 bits are shifted.
        let shift = (u64::BITS - self.config.total.leading_zeros()).saturating_sub(16);
        let floor = (sheltered / denominator).checked_ilog2().unwrap_or(0);
        let nearest = floor + u32::from(2 * sheltered > (3 * denominator) << floor);
        self.config.capacity_shift = shift;
        self.config.sheltered_exponent = nearest.saturating_sub(shift).min(15);
        let products = std::array::from_fn(|pair| 1 << ((pair >> 4) + (pair & 15)));
        self.table = Some(Products { left: products, right: products }.bytes().to_vec());
        self.state = Some(RifoState { min: u64::MAX, max: 0, counter: 0 }.bytes().to_vec());
        Ok(())
    }

    fn read_exp_pifo(&mut self, reader: &mut Reader) -> Result<()> {
        let r_min: u64 = reader.given("r_min")?;
        self.config.r_min = r_min;
        self.config.r_min_exponent = r_min.ilog2();
        let beyond = reader.given::<Reset>("reset")? == Reset::Gt;
        self.config.window_end = reader.given::<u64>("window_packets")? + u64::from(beyond);
        self.config.ceil = (reader.given::<BetaRounding>("beta")? == BetaRounding::Ceil).into();
        self.config.by_bounds = (reader.given::<MappingKind>("mapping")? == MappingKind::Bounds).into();
        let mut table = ExpTable::zeroed();
        if self.config.by_bounds == 0 {
            let beta0_is_last = reader.given::<BetaZero>("beta0")? == BetaZero::Last;
            fill_queues(&mut table, self.capacities.len(), beta0_is_last);
        } else {
            fill_bounds(&mut table, self.capacities.len(), r_min);
        }
        self.table = Some(table.bytes().to_vec());
        self.state = Some(ExpPifoState::zeroed().bytes().to_vec());
        Ok(())
    }
}

/// min(M, ((x+1)(M-1)) div beta + 1), counted from 0.
fn fill_queues(table: &mut ExpTable, queues: usize, beta0_is_last: bool) {
    let last = queues - 1;
    for (beta, row) in table.queue.chunks_exact_mut(EXPONENTS).enumerate() {
        for (x, queue) in row.iter_mut().enumerate() {
            *queue = match beta {
                0 if beta0_is_last => last,
                0 => 0,
                beta => ((x + 1) * last / beta).min(last),
            } as u8;
        }
    }
}

/// The exact bounds of section 2.2, from the library: a fresh scheduler shown a rank of that exponent tells them.
fn fill_bounds(table: &mut ExpTable, queues: usize, r_min: u64) {
    for (beta, row) in table.bounds.chunks_exact_mut(MAX_QUEUES).enumerate() {
        let rank = (u128::from(r_min) << beta).min(u128::from(Rank::MAX.get())) as u64;
        let mut scheduler = ExpPifo::new(ExpPifoParams {
            mapping: Mapping::Bounds,
            beta: BetaRounding::Ceil,
            reset: Reset::Gt,
            r_min,
            ..ExpPifoParams::uniform(queues, 1)
        })
        .expect("these parameters were accepted before");
        let rank = Rank::new(rank).expect("at most the largest rank");
        let _ = scheduler.enqueue(Packet { id: 0, flow: 0, size: 1, rank, arrival: Time::ZERO }, Time::ZERO);
        // Exponents that no rank reaches are never looked up.
        if scheduler.decider().beta() as usize == beta {
            for (queue, bound) in row.iter_mut().enumerate().take(queues - 1) {
                *bound = scheduler.queue_bound(queue).expect("a queue before the last has a bound") as u64;
            }
        }
    }
}
