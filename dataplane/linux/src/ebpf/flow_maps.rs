//! A table of flows and prefixes in the kernel's maps, updated entry by entry while packets pass.

use super::intf::{Flow, Prefix, Shared};
use crate::Result;
use crate::error::Trying;
use crate::rank::table::{self, Side, Table};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use pifolab_frames::frame::FlowKey;

pub(super) const FLOWS: &str = "table_flows";
pub(super) const PREFIXES: &str = "table_prefixes";

/// The words of an address in packet order. An IPv4 address is the last word, after zeros.
fn words(address: u128) -> [[u8; 4]; 4] {
    let bytes = address.to_be_bytes();
    std::array::from_fn(|word| std::array::from_fn(|byte| bytes[4 * word + byte]))
}

fn flow(key: &FlowKey) -> Flow {
    Flow {
        source: words(key.source),
        destination: words(key.destination),
        ports: key.ports,
        protocol: key.protocol.into(),
        version: key.version.into(),
    }
}

fn prefix(prefix: &table::Prefix) -> Prefix {
    let side = match prefix.side {
        Side::Destination => 0,
        Side::Source => 1,
    };
    Prefix {
        // All bits of the first word and of the leading zeros are part of the prefix.
        bits: 32 + if prefix.version == 4 { 96 } else { 0 } + u32::from(prefix.bits),
        kind: [0, 0, side, prefix.version],
        address: words(prefix.address),
    }
}

/// The maps of one program, and their contents.
#[derive(Debug)]
pub struct FlowMaps {
    flows: MapHandle,
    prefixes: MapHandle,
    held: Table,
}

impl FlowMaps {
    pub(super) const fn new(flows: MapHandle, prefixes: MapHandle, held: Table) -> Self {
        Self { flows, prefixes, held }
    }

    /// Updates the maps to `table`, entry by entry. During the update, old and new entries coexist.
    pub fn hold(&mut self, table: Table) -> Result<()> {
        let tried = || "writing the table of flows".to_owned();
        let put = |map: &MapHandle, key: &[u8], value: u64| map.update(key, &value.to_ne_bytes(), MapFlags::ANY);
        for (key, value) in table.flows() {
            put(&self.flows, flow(key).bytes(), *value).trying(tried)?;
        }
        for (key, value) in table.prefixes() {
            put(&self.prefixes, prefix(key).bytes(), *value).trying(tried)?;
        }
        for key in self.held.flows().keys().filter(|key| !table.flows().contains_key(key)) {
            self.flows.delete(flow(key).bytes()).trying(tried)?;
        }
        for key in self.held.prefixes().keys().filter(|key| !table.prefixes().contains_key(key)) {
            self.prefixes.delete(prefix(key).bytes()).trying(tried)?;
        }
        self.held = table;
        Ok(())
    }
}
