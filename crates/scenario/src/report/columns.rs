//! Cells, columns and tables of both kinds of runs.

use crate::extras::Extras;
use pifolab_metrics::{Column, QueueSample, QueueShare, Sample, Samples, Table, Texts, whole};
use pifolab_sched::DropReason;
use pifolab_sched::params::Choice;
use pifolab_units::Time;
use serde_json::{Value as Json, json};

/// One number of a scheduler.
pub(crate) enum Cell {
    Count(u64),
    Optional(Option<u64>),
    Real(Option<f64>),
    Text(String),
}

impl Cell {
    /// A missing real number is NaN in a table.
    pub(crate) fn column(self) -> Column {
        match self {
            Self::Count(count) => Column::Integers(vec![whole(count)]),
            Self::Optional(count) => Column::Optional(vec![count.map(whole)]),
            Self::Real(number) => Column::Reals(vec![number.unwrap_or(f64::NAN)]),
            Self::Text(text) => Column::Texts(Texts::repeated(&text, 1)),
        }
    }

    /// A missing number is null in JSON.
    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Count(count) => json!(count),
            Self::Optional(count) => json!(count),
            Self::Real(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }
}

/// The columns that count drops, one for each reason.
pub(crate) fn dropped<T>(count: impl Fn(DropReason) -> T) -> impl Iterator<Item = (&'static str, T)> {
    DropReason::ALL.iter().map(move |reason| {
        let name = match *reason {
            DropReason::Admission => "dropped_admission",
            DropReason::Full => "dropped_full",
            DropReason::PushedOut => "dropped_pushed_out",
            DropReason::RankOutOfRange => "dropped_rank_out_of_range",
            DropReason::Aqm => "dropped_aqm",
        };
        (name, count(*reason))
    })
}

/// The common columns of the tables of queues.
pub(crate) fn queue_columns(rows: &[(Option<u32>, QueueShare)]) -> Vec<(&'static str, Column)> {
    let counts = |of: &dyn Fn(&QueueShare) -> u64| Column::Integers(rows.iter().map(|row| whole(of(&row.1))).collect());
    let mut columns = vec![
        ("queue", Column::Optional(rows.iter().map(|row| row.0.map(i64::from)).collect())),
        ("admitted_packets", counts(&|queue| queue.admitted)),
        ("sent_packets", counts(&|queue| queue.sent)),
        ("sent_bytes", counts(&|queue| queue.sent_bytes)),
        ("dropped_packets", counts(&|queue| queue.dropped.all())),
    ];
    columns.extend(dropped(|reason| counts(&move |queue| queue.dropped.of(reason))));
    columns
}

/// A column of integers.
pub(crate) fn integers<T>(rows: &[T], of: impl Fn(&T) -> i64) -> Column {
    Column::Integers(rows.iter().map(of).collect())
}

/// The number of rows of a record in the tables: fewer once the run is interrupted, which may happen while they are
/// made.
pub(crate) struct Limit<'a> {
    interrupted: std::cell::Cell<bool>,
    schedulers: usize,
    extras: &'a dyn Extras,
}

impl<'a> Limit<'a> {
    pub(crate) fn new(interrupted: bool, schedulers: usize, extras: &'a dyn Extras) -> Self {
        Self { interrupted: interrupted.into(), schedulers, extras }
    }

    /// The present limit of rows for a record of one scheduler.
    pub(crate) fn rows(&self) -> usize {
        self.interrupted.set(self.interrupted.get() || self.extras.interrupted());
        if self.interrupted.get() { self.extras.interrupted_rows() / self.schedulers } else { usize::MAX }
    }

    /// The first of `rows`, up to the limit.
    pub(crate) fn first<'r, T>(&self, rows: &'r [T]) -> &'r [T] {
        &rows[..rows.len().min(self.rows())]
    }
}

/// The warning about a record with only its first rows in the tables.
pub(crate) fn cut_short(scheduler: &str, record: &str, rows: usize, of: usize) -> String {
    format!("{scheduler}: interrupted: {record} has the first {rows} of {of} rows")
}

/// The number of rows made between two checks for Ctrl-C. Few in tests, so that they reach one.
pub(crate) const LOOK_AFTER_ROWS: usize = if cfg!(test) { 100 } else { 100_000 };

/// The first samples, up to `limit`, of each port as a whole and of each of its queues, under these names. On one link
/// the single port has no name, and its samples have the range of the window.
pub(crate) fn sample_tables(
    names: [&'static str; 2],
    ports: &[(u32, &Samples)],
    one_link: bool,
    limit: &Limit<'_>,
) -> [Table; 2] {
    loop {
        let most = limit.rows();
        let mut tables = some_samples(names, &[], &[], one_link);
        let (mut whole_port, mut by_queue) = (Vec::new(), Vec::new());
        let add = |whole_port: &mut Vec<_>, by_queue: &mut Vec<_>, tables: &mut [Table; 2]| {
            for (table, more) in tables.iter_mut().zip(some_samples(names, whole_port, by_queue, one_link)) {
                table.append(more);
            }
            whole_port.clear();
            by_queue.clear();
        };
        let mut interrupted = false;
        'all: for (port, samples) in ports {
            for (sample, queues) in samples.iter() {
                let rows = [tables[0].rows() + whole_port.len(), tables[1].rows() + by_queue.len() + queues.len()];
                if rows[0].max(rows[1]) > most {
                    break 'all;
                }
                whole_port.push((*port, sample));
                by_queue.extend((0i64..).zip(queues).map(|(number, queue)| (*port, sample.time, number, *queue)));
                if whole_port.len().max(by_queue.len()) >= LOOK_AFTER_ROWS {
                    add(&mut whole_port, &mut by_queue, &mut tables);
                    // All of them may take seconds. If interrupted, the tables are made again with fewer, whole
                    // samples.
                    interrupted = limit.rows() < most;
                    if interrupted {
                        break 'all;
                    }
                }
            }
        }
        if !interrupted {
            add(&mut whole_port, &mut by_queue, &mut tables);
            return tables;
        }
    }
}

fn some_samples(
    names: [&'static str; 2],
    whole_port: &[(u32, Sample)],
    by_queue: &[(u32, Time, i64, QueueSample)],
    one_link: bool,
) -> [Table; 2] {
    let mut samples = vec![("time_ns", integers(whole_port, |row| whole(row.1.time.as_ns())))];
    let mut queues = vec![("time_ns", integers(by_queue, |row| whole(row.1.as_ns())))];
    if !one_link {
        samples.push(("port", integers(whole_port, |row| row.0.into())));
        queues.push(("port", integers(by_queue, |row| row.0.into())));
    }
    samples.extend([
        ("packets", integers(whole_port, |row| row.1.packets.into())),
        ("backlog_bytes", integers(whole_port, |row| whole(row.1.bytes))),
    ]);
    if one_link {
        let windows: Vec<_> = whole_port.iter().map(|(_, sample)| sample.window).collect();
        let lowest = windows.iter().map(|window| window.map(|(low, _)| whole(low.get())));
        let highest = windows.iter().map(|window| window.map(|(_, high)| whole(high.get())));
        samples.push(("window_min", Column::Optional(lowest.collect())));
        samples.push(("window_max", Column::Optional(highest.collect())));
    }
    queues.extend([
        ("queue", integers(by_queue, |row| row.2)),
        ("packets", integers(by_queue, |row| row.3.packets.into())),
        ("bound", Column::Optional(by_queue.iter().map(|row| row.3.bound).collect())),
    ]);
    [Table::new(names[0], samples), Table::new(names[1], queues)]
}
