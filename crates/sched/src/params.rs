//! Parameters of schedulers and rank functions. Each has one table, from which validation, `pifolab show`, the JSON
//! Schema and the Python keywords are made, so that a range or a default is written once.
//!
//! A table is a list of [`Param`]s inside an [`Info`]; [`pifolab_params`] describes how they are read. Rust callers
//! fill the typed params of a scheduler instead, which are checked against the same rows.

use crate::Capacity;
use alloc::format;
use alloc::vec::Vec;
use pifolab_units::Rate;

pub use pifolab_params::{
    Args, Choice, Component, Kind, Literal, MAX_RANK, Misfit, Param, ParamError, Value, choices, closest, meant,
    unknown_key,
};

/// The largest number of queues.
pub const MAX_QUEUES: u64 = 1024;
/// The largest capacity of one queue or buffer, in packets.
pub const MAX_PACKETS: u64 = 1 << 24;
/// The largest capacity of one queue or buffer, in bytes.
pub const MAX_BYTES: u64 = 1 << 40;

/// The description of a scheduler or a rank function for users.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name in text: `sp-pifo`.
    pub name: &'static str,
    /// One sentence: what it does.
    pub summary: &'static str,
    /// Paper, section and algorithm number; begins with `none` if there is no paper.
    pub paper: &'static str,
    /// For a scheduler, how its order and its drops deviate from PIFO's; for a rank function, the effect of the rank.
    pub effect: &'static str,
    /// The registers and tables that a switch needs for it.
    pub state: &'static str,
    /// Cost per operation.
    pub cost: &'static str,
    /// Its parameters, most important first.
    pub params: &'static [Param],
}

impl Info {
    /// Whether a paper describes it.
    pub fn has_paper(&self) -> bool {
        !self.paper.starts_with("none")
    }

    /// The row of the parameter `name`, if it has one.
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().find(|param| param.name == name)
    }

    /// The row of the parameter `name`, which must exist.
    ///
    /// # Panics
    /// If there is no such parameter.
    pub fn row(&self, name: &str) -> &'static Param {
        self.param(name).unwrap_or_else(|| panic!("{} has no parameter {name}", self.name))
    }

    /// Arguments of a command line: each value is parsed as the kind of its row requires. Values without a row stay
    /// text.
    pub fn arguments(&self, written: &[(&str, &str)]) -> Args {
        let mut args = Args::new(self.name);
        for &(name, text) in written {
            let value =
                self.param(name).map_or_else(|| Value::Text(text.into()), |row| Value::from_text(&row.kind, text));
            args.set(name, value);
        }
        args
    }
}

/// `capacity_packets`: the capacity of a single buffer.
pub const CAPACITY_PACKETS: Param = Param::integer("capacity_packets", 1, MAX_PACKETS)
    .unit("packets")
    .usually(Literal::Integer(80), " packets, unless capacity_bytes is given")
    .doc("The most packets that the buffer holds, without the one in service. All five papers use 80 for PIFO.");

/// `capacity_bytes`: the capacity of a single buffer.
pub const CAPACITY_BYTES: Param =
    Param::integer("capacity_bytes", 1, MAX_BYTES).unit("bytes").means("the capacity is counted in packets").doc(
        "The most bytes that the buffer holds: a packet fits if backlog + size stays within. Instead of \
         capacity_packets.",
    );

/// `queues`: the number of strict-priority queues.
pub const QUEUES: Param = Param::integer("queues", 1, MAX_QUEUES)
    .unit("queues")
    .usually(Literal::Integer(8), ", or as many as a list of capacities has")
    .doc("The number of strict-priority queues; queue 0 is served first. Commodity switches have 8 per port.");

/// `queue_capacity_packets`: the capacity of each queue.
pub const QUEUE_CAPACITY_PACKETS: Param =
    Param::new("queue_capacity_packets", Kind::IntegerOrIntegers { min: 1, max: MAX_PACKETS })
        .unit("packets")
        .usually(Literal::Integer(10), " packets in each queue, unless queue_capacity_bytes is given")
        .doc(
            "The most packets that each queue holds, or a list with one number for each queue, highest priority first. \
             8 x 10 packets is the papers' usual set-up.",
        );

/// `queue_capacity_bytes`: the capacity of each queue.
pub const QUEUE_CAPACITY_BYTES: Param =
    Param::new("queue_capacity_bytes", Kind::IntegerOrIntegers { min: 1, max: MAX_BYTES })
        .unit("bytes")
        .means("the capacities are counted in packets")
        .doc(
            "The most bytes that each queue holds, or a list with one number for each queue. Instead of \
             queue_capacity_packets.",
        );

/// Whether a packet whose queue is full tries the next ones.
pub const FALL_THROUGH: Param = Param::flag("fall_through")
    .or_flag(true)
    .doc("Whether a packet whose queue is full tries the next ones, or is dropped.");

/// `buckets`: queues that flows share.
pub const BUCKETS: Param = Param::integer("buckets", 1, 1 << 20)
    .unit("queues")
    .or_integer(1024)
    .doc("Queues that flows share: flow f is in queue f mod buckets. 1024 is the number in Linux, which hashes.");

/// `quantum_bytes`: the bytes that a flow may send in a turn.
pub const QUANTUM: Param = Param::integer("quantum_bytes", 1, 1 << 30).unit("bytes").or_integer(1_514).doc(
    "The bytes that a flow may send in a turn. 1514 is a full Ethernet frame, the default of Linux and of RFC 8290.",
);

/// Reads `capacity_packets` or `capacity_bytes`.
///
/// # Errors
/// Out of range, or both given.
pub fn read_capacity(args: &mut Args) -> Result<Capacity, ParamError> {
    read_capacity_by(args, &CAPACITY_PACKETS)
}

/// As [`read_capacity`], with another row for the capacity in packets.
///
/// # Errors
/// As [`read_capacity`].
pub fn read_capacity_by(args: &mut Args, packets: &Param) -> Result<Capacity, ParamError> {
    match args.get(&CAPACITY_BYTES)? {
        // A capacity in packets stays unread, and `finish` refuses it.
        Some(bytes) => Ok(Capacity::Bytes(bytes)),
        None => Ok(Capacity::Packets(args.usual(packets)?)),
    }
}

/// Reads the capacity of each queue, highest priority first, from `queues` and `queue_capacity_packets` or
/// `queue_capacity_bytes`.
///
/// # Errors
/// Out of range, both units given, or a list whose length is not `queues`.
pub fn read_queue_capacities(args: &mut Args) -> Result<Vec<Capacity>, ParamError> {
    let queues: Option<usize> = args.get(&QUEUES)?;
    let bytes = args.contains(&QUEUE_CAPACITY_BYTES);
    let param = if bytes { &QUEUE_CAPACITY_BYTES } else { &QUEUE_CAPACITY_PACKETS };
    let capacity = |value: u64| {
        let packets = || u32::try_from(value).expect("the table's range fits");
        if bytes { Capacity::Bytes(value) } else { Capacity::Packets(packets()) }
    };
    let Some(list @ Value::List(_)) = args.value(param)? else {
        let each = if bytes { args.given(param)? } else { args.usual(param)? };
        return Ok(alloc::vec![capacity(each); queues.unwrap_or_else(|| QUEUES.usual())]);
    };
    let values: Vec<u64> = args.given(param)?;
    let fault = |expected| Err(param.error_because(args.owner(), &list, expected));
    if values.is_empty() || values.len() as u64 > MAX_QUEUES {
        return fault(format!("expected from 1 to {MAX_QUEUES} queues"));
    }
    if let Some(queues) = queues.filter(|queues| *queues != values.len()) {
        return fault(format!("expected {queues} capacities, since queues = {queues}"));
    }
    Ok(values.into_iter().map(capacity).collect())
}

/// Checks the capacities that a Rust caller gave for the queues of `owner`.
///
/// # Errors
/// No queue, too many, one without room or without bound, or packets mixed with bytes.
pub fn check_queue_capacities(owner: &str, capacities: &[Capacity]) -> Result<(), ParamError> {
    QUEUES.check(owner, capacities.len() as i128)?;
    for capacity in capacities {
        if core::mem::discriminant(capacity) != core::mem::discriminant(&capacities[0]) {
            return Err(QUEUE_CAPACITY_PACKETS.error_because(
                owner,
                capacity,
                "expected the capacities of all queues in packets, or all in bytes",
            ));
        }
        check_in_rows(owner, *capacity, &QUEUE_CAPACITY_PACKETS, &QUEUE_CAPACITY_BYTES)?;
    }
    Ok(())
}

/// Checks the capacity that a Rust caller gave for the buffer of `owner`.
///
/// # Errors
/// Without room. [`Capacity::Unlimited`] passes.
pub fn check_capacity(owner: &str, capacity: Capacity) -> Result<(), ParamError> {
    if capacity == Capacity::Unlimited { Ok(()) } else { check_bounded_capacity(owner, capacity) }
}

/// As [`check_capacity`], for schedulers whose arithmetic needs a bound.
///
/// # Errors
/// Without room or without bound.
pub fn check_bounded_capacity(owner: &str, capacity: Capacity) -> Result<(), ParamError> {
    check_in_rows(owner, capacity, &CAPACITY_PACKETS, &CAPACITY_BYTES)
}

/// Checks a capacity against the row of its unit.
fn check_in_rows(owner: &str, capacity: Capacity, packets_row: &Param, bytes_row: &Param) -> Result<(), ParamError> {
    match capacity {
        Capacity::Packets(packets) => packets_row.check(owner, packets),
        Capacity::Bytes(bytes) => bytes_row.check(owner, bytes),
        Capacity::Unlimited => Err(packets_row.error(owner, capacity)),
    }
}

/// Reads a rate in Gb/s, exactly.
///
/// # Errors
/// Not above 0, not a whole number of bits per second, or so high that a byte takes less than a picosecond.
pub fn read_gbps(args: &mut Args, param: &Param) -> Result<Option<Rate>, ParamError> {
    let Some(value) = args.value(param)? else { return Ok(None) };
    let bps = match &value {
        Value::Integer(integer) => u64::try_from(*integer).ok().and_then(|gbps| gbps.checked_mul(1_000_000_000)),
        Value::Decimal(text) | Value::Text(text) => pifolab_params::exact(text, 9).or_else(|| bps_of_fraction(text)),
        _ => None,
    };
    match bps.and_then(Rate::from_bps).filter(|rate| *rate <= Rate::FASTEST_LINK) {
        Some(rate) => Ok(Some(rate)),
        None => {
            let expected = "expected a rate in whole bits per second, from 0.000000001 to 8000 Gb/s";
            Err(param.error_because(args.owner(), value, expected))
        }
    }
}

/// A fraction of Gb/s such as "8/5" (the form of Python's fractions) in bits per second, if that is a whole number.
fn bps_of_fraction(gbps: &str) -> Option<u64> {
    let (numerator, denominator) = gbps.split_once('/')?;
    let (numerator, denominator): (u64, u64) = (numerator.trim().parse().ok()?, denominator.trim().parse().ok()?);
    let bits = u128::from(numerator) * 1_000_000_000;
    let whole = bits.checked_rem(denominator.into())? == 0;
    u64::try_from(bits / u128::from(denominator)).ok().filter(|_| whole)
}

/// A scheduler or a rank function that is built from text.
pub trait FromArgs: Sized {
    /// What a user can look up about it.
    const INFO: Info;

    /// Reads its parameters.
    ///
    /// # Errors
    /// The first parameter that cannot be accepted.
    fn from_args(args: &mut Args) -> Result<Self, ParamError>;

    /// Reads its parameters and refuses every other.
    ///
    /// # Errors
    /// The first parameter that cannot be accepted, is unknown, or has no effect.
    fn build(mut args: Args) -> Result<Self, ParamError> {
        let built = Self::from_args(&mut args)?;
        args.finish(Self::INFO.params)?;
        Ok(built)
    }
}

/// A type that is made from typed parameters any number of times.
pub trait Construct: Sized {
    /// Its parameters.
    type Params: FromArgs + Clone + Send + Sync + 'static;

    /// Makes one.
    ///
    /// # Errors
    /// The first parameter that cannot be accepted.
    fn construct(params: Self::Params) -> Result<Self, ParamError>;
}

impl<S: Construct> FromArgs for S {
    const INFO: Info = S::Params::INFO;

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Self::construct(S::Params::from_args(args)?)
    }
}

#[cfg(test)]
mod tests;
