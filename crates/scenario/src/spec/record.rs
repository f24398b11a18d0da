//! `[record]`: records of a network over time.

use super::topology::Layout;
use super::topology_fields::RECORD;
use crate::error::{Error, SpecError};
use crate::fields::Reader;
use pifolab_params::{Misfit, Table};
use pifolab_units::Span;
use serde_json::Value as Json;

/// The records, by numbers of ports and hosts.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The sampling interval and the sampled ports.
    pub(crate) samples: Option<(Span, Vec<u32>)>,
    /// Ports whose packets are logged.
    pub(crate) log: Vec<u32>,
    /// Hosts where arrivals are logged.
    pub(crate) arrivals: Vec<u32>,
    /// Hosts where frames are kept.
    pub(crate) frames: Vec<u32>,
    /// The interval over which bytes of flows are summed.
    pub(crate) throughput: Option<Span>,
    /// Whether reordering between the ends is counted.
    pub(crate) reordering: bool,
    /// The most rows of each kind.
    pub(crate) max_rows: usize,
}

/// Reads `[record]`; without it nothing is recorded.
pub(crate) fn read_record(
    section: Option<Table>,
    file: &str,
    layout: &Layout,
    has_program: bool,
) -> Result<(Option<Record>, Json), Error> {
    let Some(section) = section else { return Ok((None, Json::Null)) };
    let mut reader = Reader::new(section, file, RECORD)?;
    let samples = match interval(&mut reader, "sample_interval")? {
        Some(interval) => {
            let ports = members(&mut reader, "sample_ports", |text| layout.ports(text))?;
            let ports = ports.map_or_else(|| layout.ports("switches"), Ok);
            Some((interval, ports.expect("a network lists its switches' ports, even if there are none")))
        }
        None => None,
    };
    let log = members(&mut reader, "packet_log", |text| layout.ports(text))?;
    let arrivals = members(&mut reader, "arrival_order", |text| Ok(vec![layout.host(text)?]))?;
    let frames = members(&mut reader, "frames", |text| Ok(vec![layout.host(text)?]))?;
    if frames.is_some() && !has_program {
        let problem = "has no effect: packets have bytes only where [switch] has a program that forwards them";
        return Err(reader.fault("frames", problem).into());
    }
    let throughput = interval(&mut reader, "throughput_interval")?;
    let reordering = reader.given::<bool>("reordering")?;
    let lists = [&log, &arrivals, &frames];
    if samples.is_none() && lists.iter().all(|list| list.is_none()) && throughput.is_none() && !reordering {
        let problem = "is missing: expected at least one of sample_interval_us, packet_log, arrival_order, frames, throughput_interval_us and reordering";
        return Err(reader.fault("sample_interval_us", problem).into());
    }
    let max_rows = reader.given::<usize>("max_rows")?;
    let [log, arrivals, frames] = [log, arrivals, frames].map(Option::unwrap_or_default);
    Ok((Some(Record { samples, log, arrivals, frames, throughput, reordering, max_rows }), reader.finish()?.into()))
}

fn interval(reader: &mut Reader<'_>, name: &str) -> Result<Option<Span>, SpecError> {
    match reader.time(name)? {
        Some(Span::ZERO) => Err(reader.fault(&reader.written(name), Misfit::of(0, "expected a time above 0"))),
        interval => Ok(interval),
    }
}

/// The numbers of a list of names, ascending and unique.
fn members(
    reader: &mut Reader<'_>,
    name: &str,
    find: impl Fn(&str) -> Result<Vec<u32>, String>,
) -> Result<Option<Vec<u32>>, SpecError> {
    let Some(texts) = reader.get::<Vec<String>>(name)? else { return Ok(None) };
    let mut all = Vec::new();
    for text in texts {
        all.extend(find(&text).map_err(|problem| reader.fault(name, problem))?);
    }
    all.sort_unstable();
    all.dedup();
    Ok(Some(all))
}
