//! Traces as CSV: a time column (`time_ns`, `time_us` or `time_s`), `size_bytes`, and optionally `rank`, `flow`,
//! `class` and the packet's earliest departure time (`eligible_ns`, `eligible_us` or `eligible_s`, on the clock of the
//! time column).
//!
//! Columns may be in any order. Unknown columns are an error, because a misspelt `rank` would otherwise silently mean
//! rank 0. Numbers may have the formats of Python, pandas and R (`1e-05`, `1500.0`). Times are exact to the picosecond;
//! finer times are rounded. A flow's name is any text. Quotes around a field are ignored, and so is a first column
//! without a name, in which pandas and R number the rows. A comma inside quotes still ends a field.

use super::flow_table::FlowTable;
use super::record::At;
use crate::input::{Input, Lines, picoseconds, quoted, whole};
use crate::{Arrival, FileError, Place};
use pifolab_units::{Rank, Time};

/// Time columns, and the power of ten of their unit in picoseconds.
const TIME_COLUMNS: [(&str, u32); 3] = [("time_ns", 3), ("time_us", 6), ("time_s", 12)];
/// The same for the columns of eligible times.
const ELIGIBLE_COLUMNS: [(&str, u32); 3] = [("eligible_ns", 3), ("eligible_us", 6), ("eligible_s", 12)];

pub(super) struct CsvTrace<'a> {
    lines: Lines<'a>,
    columns: Vec<Column>,
    use_rank: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Time(&'static str, u32),
    Eligible(&'static str, u32),
    Size,
    Rank,
    Flow,
    Class,
    RowNumber,
}

impl Column {
    const fn name(self) -> &'static str {
        match self {
            Self::Time(name, _) | Self::Eligible(name, _) => name,
            Self::Size => "size_bytes",
            Self::Rank => "rank",
            Self::Flow => "flow",
            Self::Class => "class",
            Self::RowNumber => "",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let times = TIME_COLUMNS.map(|(name, power)| Self::Time(name, power));
        let eligible = ELIGIBLE_COLUMNS.map(|(name, power)| Self::Eligible(name, power));
        let others = [Self::Size, Self::Rank, Self::Flow, Self::Class];
        times.into_iter().chain(eligible).chain(others).find(|column| column.name() == name)
    }
}

impl<'a> CsvTrace<'a> {
    /// Reads the header. `use_rank` requires the column `rank`.
    pub(super) fn open(input: Input<'a>, use_rank: bool) -> Result<Self, FileError> {
        let mut lines = Lines::new(input);
        let header = lines.next()?.unwrap_or_default();
        let mut columns = Vec::new();
        let mut problem = None;
        for name in header.split(',').map(field) {
            match Column::from_name(name) {
                None if name.is_empty() && columns.is_empty() && header.contains(',') => {
                    columns.push(Column::RowNumber)
                }
                Some(Column::Time(..)) if columns.iter().any(|column| matches!(column, Column::Time(..))) => {
                    problem = Some(format!("{name} is a second time column"));
                }
                Some(Column::Eligible(..)) if columns.iter().any(|column| matches!(column, Column::Eligible(..))) => {
                    problem = Some(format!("{name} is a second column of times at which packets may leave"));
                }
                Some(column) if columns.contains(&column) => problem = Some(format!("duplicate column {name}")),
                Some(column) => columns.push(column),
                None => {
                    problem = Some(format!(
                        "{}: expected the columns time_ns (or time_us, time_s), size_bytes, and perhaps rank, flow, class and \
                         eligible_ns (or eligible_us, eligible_s)",
                        quoted(name)
                    ));
                }
            }
            if problem.is_some() {
                break;
            }
        }
        if problem.is_none() && !columns.iter().any(|column| matches!(column, Column::Time(..))) {
            problem = Some("the time column is missing: expected time_ns, time_us or time_s".to_owned());
        }
        for needed in [Some(Column::Size), use_rank.then_some(Column::Rank)].into_iter().flatten() {
            if problem.is_none() && !columns.contains(&needed) {
                problem = Some(format!("the column {} is missing", needed.name()));
            }
        }
        if let Some(problem) = problem {
            return Err(lines.error(problem));
        }
        Ok(Self { lines, columns, use_rank })
    }

    /// The file's format with its columns.
    pub(super) fn name(&self) -> String {
        let columns: Vec<_> = self.columns.iter().map(|column| column.name()).filter(|name| !name.is_empty()).collect();
        format!("CSV ({})", columns.join(","))
    }

    pub(super) fn fault(&self, problem: &str) -> FileError {
        self.lines.file_error(problem)
    }

    pub(super) fn has_classes(&self) -> bool {
        self.columns.contains(&Column::Class)
    }

    /// Whether the file has a column of eligible times.
    pub(super) fn has_eligible(&self) -> bool {
        self.columns.iter().any(|column| matches!(column, Column::Eligible(..)))
    }

    /// Returns the next row; stores its class if the column exists, and counts rounded times in `rounded`.
    pub(super) fn next(
        &mut self,
        flows: &mut FlowTable,
        class: &mut u32,
        rounded: &mut u64,
    ) -> Result<Option<(At, Arrival)>, FileError> {
        let row = loop {
            match self.lines.next()? {
                None => return Ok(None),
                Some("") => {}
                Some(line) => break parse(line, &self.columns, self.use_rank, flows, class),
            }
        };
        match row {
            Ok((time_ps, hold_ps, arrival, exact)) => {
                *rounded += u64::from(!exact);
                Ok(Some((At { time_ps, hold_ps, place: Place::Line(self.lines.number()) }, arrival)))
            }
            Err((Some(column), problem)) => Err(self.lines.column_error(column, problem)),
            Err((None, problem)) => Err(self.lines.error(problem)),
        }
    }
}

/// Removes the quotes that R writes around text.
fn field(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

type Fault = (Option<&'static str>, String);

fn parse(
    line: &str,
    columns: &[Column],
    use_rank: bool,
    flows: &mut FlowTable,
    class: &mut u32,
) -> Result<(i128, u64, Arrival, bool), Fault> {
    let (mut time_ps, mut exact) = (0, true);
    let mut eligible: Option<(i128, Column, &str)> = None;
    let mut arrival = Arrival { time: Time::ZERO, bytes: 0, rank: Rank::ZERO, flow: 0 };
    let mut fields = line.split(',').map(field);
    for (at, &column) in columns.iter().enumerate() {
        let Some(text) = fields.next() else {
            return Err((None, format!("{at} fields where the header has {}", columns.len())));
        };
        let expected = |what: &str| (Some(column.name()), format!("{}: expected {what}", quoted(text)));
        let mut time = |power| {
            let (ps, whole) = picoseconds(text, power).ok_or_else(|| expected("a time, 0 or above"))?;
            exact &= whole;
            i128::try_from(ps).map_err(|_| expected("a time below 2^127 ps"))
        };
        match column {
            Column::Time(_, power) => time_ps = time(power)?,
            Column::Eligible(_, power) => eligible = Some((time(power)?, column, text)),
            Column::Size => {
                let bytes = whole(text).and_then(|bytes| bytes.try_into().ok()).filter(|&bytes| bytes > 0);
                arrival.bytes = bytes.ok_or_else(|| expected("1 to 2^32 - 1 bytes"))?;
            }
            Column::Rank if use_rank => {
                let rank = whole(text).and_then(Rank::new);
                arrival.rank = rank.ok_or_else(|| expected("an integer from 0 to 2^63 - 1"))?;
            }
            Column::Rank | Column::RowNumber => {}
            Column::Class => {
                let number = whole(text).and_then(|class| class.try_into().ok());
                *class = number.ok_or_else(|| expected("an integer from 0 to 2^32 - 1"))?;
            }
            Column::Flow if text.is_empty() => return Err(expected("a name or number")),
            Column::Flow => {
                arrival.flow = flows.number_of_label(text).ok_or_else(|| expected("at most 2^32 - 1 flows"))?;
            }
        }
    }
    // An eligible time before the arrival counts as the time of the arrival.
    let hold_ps = match eligible {
        None => 0,
        Some((eligible_ps, column, text)) => u64::try_from((eligible_ps - time_ps).max(0)).map_err(|_| {
            let problem = format!("{}: expected a time within 213 days after the packet arrives", quoted(text));
            (Some(column.name()), problem)
        })?,
    };
    match fields.count() {
        0 => Ok((time_ps, hold_ps, arrival, exact)),
        more => Err((None, format!("{} fields where the header has {}", columns.len() + more, columns.len()))),
    }
}
