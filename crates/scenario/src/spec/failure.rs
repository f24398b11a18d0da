//! `[[link_failure]]` and `[switch_buffer]`: failing links, and memory that the ports of a switch share.

use super::topology::Layout;
use super::topology_fields::{LINK_FAILURE, SWITCH_BUFFER};
use crate::error::{Error, SpecError};
use crate::fields::Reader;
use pifolab_params::{Misfit, Table};
use pifolab_sim::network::{LinkChange, SharedBuffer};
use pifolab_units::{Ratio, Time};
use serde_json::Value as Json;

/// Reads `[[link_failure]]`.
pub(crate) fn read_failures(
    sections: Vec<Table>,
    file: &str,
    layout: &Layout,
    end: Time,
) -> Result<(Vec<LinkChange>, Json), Error> {
    let mut failures = Vec::with_capacity(sections.len());
    let mut resolved: Vec<Json> = Vec::with_capacity(sections.len());
    for section in sections {
        let mut reader = Reader::new(section, file, LINK_FAILURE)?;
        let text = reader.get::<String>("link")?.expect("link is required");
        let ports = layout.link(&text).map_err(|problem| reader.fault("link", problem))?;
        let at = Time::ZERO + reader.time("at")?.expect("at is required");
        let repair = reader.time("repair")?.map(|repair| Time::ZERO + repair);
        if at >= end {
            let key = reader.written("at");
            let expected = format!("expected a time before the end of the run, {end}");
            return Err(reader.fault(&key, Misfit::of(at, expected)).into());
        }
        if repair.is_some_and(|repair| repair <= at) {
            let key = reader.written("repair");
            return Err(reader.fault(&key, format!("expected a time after the failure, {at}")).into());
        }
        if let Some(other) = failures.iter().find(|other: &&Failure| other.overlaps(ports, at, repair)) {
            let problem = format!("has failed already, at {}, and is not repaired before", other.at);
            return Err(reader.fault("link", Misfit::of(format_args!("{:?}", text), problem)).into());
        }
        failures.push(Failure { ports, at, repair });
        resolved.push(reader.finish()?.into());
    }
    Ok((failures.iter().flat_map(Failure::changes).collect(), resolved.into()))
}

/// A link that is down for some time.
struct Failure {
    ports: [u32; 2],
    at: Time,
    repair: Option<Time>,
}

impl Failure {
    fn overlaps(&self, ports: [u32; 2], at: Time, repair: Option<Time>) -> bool {
        let same = self.ports.contains(&ports[0]);
        same && self.repair.is_none_or(|mine| mine >= at) && repair.is_none_or(|theirs| theirs >= self.at)
    }

    fn changes(&self) -> impl Iterator<Item = LinkChange> + '_ {
        let change = |time: Time, up: bool| self.ports.map(|port| LinkChange { time, port, up });
        change(self.at, false).into_iter().chain(self.repair.into_iter().flat_map(move |time| change(time, true)))
    }
}

/// Reads `[switch_buffer]`.
pub(crate) fn read_switch_buffer(section: Option<Table>, file: &str) -> Result<(Option<SharedBuffer>, Json), Error> {
    let Some(section) = section else { return Ok((None, Json::Null)) };
    let mut reader = Reader::new(section, file, SWITCH_BUFFER)?;
    let bytes = reader.given::<u64>("shared_bytes")?;
    let missing = |reader: &Reader<'_>| -> SpecError { reader.fault("alpha", "is missing: expected a number above 0") };
    let alpha: Ratio = reader.ratio("alpha")?.ok_or_else(|| missing(&reader))?;
    Ok((Some(SharedBuffer { bytes, alpha }), reader.finish()?.into()))
}
