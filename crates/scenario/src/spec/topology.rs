//! `[topology]`: hosts and switches, their links and their names.

use super::topology_file::{read_edge_list, read_links, text_of};
use super::topology_foreign::{FromFile, Given, Wanting, checked, read_graphml, read_hpcc, read_htsim};
use super::written::{Spec, beside};
use crate::error::{Error, SpecError};
use crate::fields::Reader;
use crate::inputs::{note, read_digested};
use crate::machine::{available, size};
use pifolab_params::{Kind, Misfit, Param, Table, choices};
use pifolab_sim::network::{ConfigError, Dumbbell, FatTree, LeafSpine, Topology};
use pifolab_units::{Rate, Span};
use serde_json::{Value as Json, json};

choices! {
    /// The kind of network.
    pub(crate) enum TopologyKind {
        LeafSpine = "leaf-spine": "hosts below leaves, every leaf linked to every spine",
        TwoHosts = "two-hosts": "two hosts and one link between them",
        FatTree = "fat-tree": "three tiers of switches with k ports each",
        Dumbbell = "dumbbell": "two switches and the link between them, hosts on either side",
        SingleSwitch = "single-switch": "hosts around one switch",
        File = "file": "a file: pifolab's own TOML, or a network of Netbench, HPCC, htsim or in GraphML",
    }
}

/// The keys of `[topology]`.
pub(crate) const TOPOLOGY: &[Param] = &[Param::one_of::<TopologyKind>(
    "kind",
    &[
        (
            TopologyKind::LeafSpine.word(),
            &[
                Param::integer("leaves", 1, 1 << 20).doc("Leaf switches."),
                Param::integer("spines", 0, 1 << 20).doc("Spine switches; 0 with a single leaf."),
                Param::integer("hosts_per_leaf", 1, 1 << 20)
                    .doc("Hosts below each leaf; host h is connected to leaf h / hosts_per_leaf."),
                ACCESS_RATE,
                FABRIC_RATE.means("oversubscription is given"),
                Param::new("oversubscription", Kind::Positive).means("fabric_rate is given").doc(
                    "Instead of fabric_rate: what the hosts of a leaf can send, as a multiple of what the leaf's \
                         links to the spines can carry; rounded to whole bits per second.",
                ),
                DELAY,
            ],
        ),
        (TopologyKind::TwoHosts.word(), &[RATE.doc("The rate of the link."), DELAY]),
        (
            TopologyKind::FatTree.word(),
            &[
                Param::integer("k", 2, FatTree::MOST_PORTS as u64)
                    .doc("Ports of every switch of a fat tree, even: k^3/4 hosts."),
                ACCESS_RATE,
                FABRIC_RATE,
                DELAY,
            ],
        ),
        (
            TopologyKind::Dumbbell.word(),
            &[
                Param::integer("left_hosts", 1, 1 << 28).doc("Hosts at the first switch; they come first."),
                Param::integer("right_hosts", 1, 1 << 28).doc("Hosts at the second switch."),
                ACCESS_RATE,
                Param::new("bottleneck_rate", Kind::Rate).doc("The rate of the link between the switches."),
                DELAY,
            ],
        ),
        (
            TopologyKind::SingleSwitch.word(),
            &[
                Param::integer("hosts", 2, 1 << 28).doc("Hosts around the switch."),
                RATE.doc("The rate of every link."),
                DELAY,
            ],
        ),
        (
            TopologyKind::File.word(),
            &[
                Param::new("file", Kind::Text).doc("The network, relative to the scenario's own file."),
                ACCESS_RATE.means("the file has it; .topology and most .graphml files need it"),
                FABRIC_RATE,
                DELAY.means("the file has it; .topology and most .graphml files need it"),
                Param::integer("hosts_per_switch", 1, 1 << 20).means("the file has hosts").doc(
                    "Hosts at each ToR of a .topology file, or at each node of a .graphml file without hosts; they are numbered along \
                     the switches, before all of them.",
                ),
            ],
        ),
    ],
)
.doc("Which network.")];

const DELAY: Param = Param::new("delay", Kind::Time).doc("The propagation delay of every link.");

const RATE: Param = Param::new("rate", Kind::Rate);
const ACCESS_RATE: Param =
    Param::new("access_rate", Kind::Rate).doc("The rate of the links between hosts and switches.");
const FABRIC_RATE: Param =
    Param::new("fabric_rate", Kind::Rate).means("the access rate").doc("The rate of the links between switches.");

/// The network and the names of its nodes.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) topology: Topology,
    /// Kinds of nodes in the order of their numbers, hosts first, with the number of each.
    tiers: Vec<(&'static str, u32)>,
    /// Hosts below each switch, if the number is the same for all.
    pub(crate) rack: Option<u32>,
    /// The numbers of the hosts in the file of the network, ascending; empty if they are the same.
    pub(crate) host_ids: Vec<u32>,
    /// The mean rate of the hosts' links.
    pub(crate) access: Rate,
}

/// A network described by its keys, which is made only after its size is checked.
struct Plan {
    /// The key that makes it large, and its value.
    sized_by: (&'static str, String),
    /// Every direction of every link.
    ports: u64,
    /// The function that makes it.
    make: Box<dyn FnOnce() -> Result<Topology, ConfigError>>,
    /// Kinds of switches in the order of their numbers, with the number of each.
    switches: Vec<(&'static str, u32)>,
    /// Hosts below each switch, if the number is the same for all.
    rack: Option<u32>,
    /// The numbers of the hosts in the file of the network; empty if they are the same.
    host_ids: Vec<u32>,
}

impl Plan {
    /// Makes the network, unless it is too large or a number does not fit.
    fn lay_out(self, reader: &Reader<'_>) -> Result<Layout, SpecError> {
        let Self { sized_by: (key, value), ports, make, switches, rack, host_ids } = self;
        if ports >= MOST_PORTS {
            let problem = format!("a network of {ports} ports: expected fewer than {MOST_PORTS}");
            return Err(reader.fault(key, Misfit::of(value, problem)));
        }
        let least = ports as f64 * PORT;
        if let Some(available) = available().map(|bytes| bytes as f64).filter(|available| least > *available) {
            let (least, available) = (size(least), size(available));
            let problem = format!(
                "a network of {ports} ports, which take over {least} of memory: expected one for the {available} available"
            );
            return Err(reader.fault(key, Misfit::of(value, problem)));
        }
        let topology =
            make().map_err(|error| reader.fault(&error.key, Misfit::of(&error.value, error.expected.clone())))?;
        assert_eq!(topology.links.len() as u64, ports, "a plan says how many ports there will be");
        let hosts = topology.hosts;
        let rates = topology.links.iter().filter(|link| link.from < hosts).map(|link| u128::from(link.rate.as_bps()));
        let (sum, count) = rates.fold((0, 0), |(sum, count), rate| (sum + rate, count + 1));
        let mean = u64::try_from(sum / u128::max(count, 1)).ok().and_then(Rate::from_bps);
        let access = mean.expect("the mean of rates is a rate, and a checked network has hosts with links");
        let tiers = [("host", hosts)].into_iter().chain(switches).collect();
        Ok(Layout { topology, tiers, rack, host_ids, access })
    }
}

impl Layout {
    /// The tier of a node and its number there.
    fn tier(&self, node: u32) -> (usize, u32) {
        let mut first = 0;
        for (tier, (_, count)) in self.tiers.iter().enumerate() {
            if node < first + count {
                return (tier, node - first);
            }
            first += count;
        }
        unreachable!("the tiers hold every node");
    }

    /// The name of a node: `leaf3`.
    pub(crate) fn name(&self, node: u32) -> String {
        let (tier, number) = self.tier(node);
        format!("{}{number}", self.tiers[tier].0)
    }

    /// The node called `text`: by its number, or by its name.
    pub(crate) fn node(&self, text: &str) -> Result<u32, String> {
        let text = text.trim();
        if let Ok(node) = text.parse::<u32>() {
            return if node < self.topology.nodes {
                Ok(node)
            } else {
                Err(format!("unknown node {node}: expected a number below {}", self.topology.nodes))
            };
        }
        let mut first = 0;
        for (name, count) in &self.tiers {
            if let Some(number) = text.strip_prefix(name).and_then(|number| number.parse::<u32>().ok())
                && number < *count
            {
                return Ok(first + number);
            }
            first += count;
        }
        let kinds = self.tiers.iter().filter(|(_, count)| *count > 0);
        let known: Vec<_> = kinds.map(|(name, count)| format!("{name}0 to {name}{}", count - 1)).collect();
        Err(format!("unknown node {text:?}: expected a number, or one of {}", known.join(", ")))
    }

    /// The host called `text`.
    pub(crate) fn host(&self, text: &str) -> Result<u32, String> {
        let node = self.node(text)?;
        if node < self.topology.hosts { Ok(node) } else { Err(format!("{text} is not a host")) }
    }

    /// The port from `from` to `to`.
    fn port(&self, from: u32, to: u32) -> Result<u32, String> {
        let found = self.topology.links.iter().position(|link| (link.from, link.to) == (from, to));
        found
            .map(|port| port as u32)
            .ok_or_else(|| format!("no link leads from {} to {}", self.name(from), self.name(to)))
    }

    /// The ports that `text` names: `leaf0->spine1`, or `switches`, `hosts`, `all`.
    pub(crate) fn ports(&self, text: &str) -> Result<Vec<u32>, String> {
        let hosts = self.topology.hosts;
        let numbered = (0..).zip(&self.topology.links);
        Ok(match text {
            "all" => (0..self.topology.links.len() as u32).collect(),
            "switches" => numbered.filter(|(_, link)| link.from >= hosts).map(|(port, _)| port).collect(),
            "hosts" => numbered.filter(|(_, link)| link.from < hosts).map(|(port, _)| port).collect(),
            _ => {
                let Some((from, to)) = text.split_once("->") else {
                    return Err(format!("{text:?} is not a port: expected FROM->TO, or one of all, switches, hosts"));
                };
                vec![self.port(self.node(from)?, self.node(to)?)?]
            }
        })
    }

    /// Both directions of the link that `text` names: `leaf0-spine1`.
    pub(crate) fn link(&self, text: &str) -> Result<[u32; 2], String> {
        let Some((a, b)) = text.split_once('-') else {
            return Err(format!("{text:?} is not a link: expected two nodes, such as leaf0-spine1 or 144-153"));
        };
        let (a, b) = (self.node(a)?, self.node(b)?);
        Ok([self.port(a, b)?, self.port(b, a)?])
    }

    /// The kind of a port in the network.
    pub(crate) fn kind(&self, from: u32, to: u32) -> String {
        let (tier, _) = self.tier(from);
        let (other, _) = self.tier(to);
        let name = self.tiers[tier].0;
        match (tier, other) {
            (0, _) => "host".to_owned(),
            (tier, other) if tier == other => "between-switches".to_owned(),
            (tier, other) if tier < other => format!("{name}-up"),
            // Ports of the top tier lead down.
            (tier, _) if tier + 1 == self.tiers.len() && tier > 1 => name.to_owned(),
            _ => format!("{name}-down"),
        }
    }
}

/// The most ports of a network: more do not fit into the memory of any machine for these simulations.
const MOST_PORTS: u64 = 1 << 28;
/// The least bytes of a port and its link in any run.
const PORT: f64 = 300.0;

/// Reads `[topology]`.
pub(crate) fn read_topology(section: Table, file: &str) -> Result<(Layout, Json), Error> {
    let mut reader = Reader::new(section, file, TOPOLOGY)?;
    let plan = match reader.given("kind")? {
        TopologyKind::LeafSpine => read_leaf_spine(&mut reader)?,
        TopologyKind::TwoHosts => read_two_hosts(&mut reader)?,
        TopologyKind::FatTree => read_fat_tree(&mut reader)?,
        TopologyKind::Dumbbell => read_dumbbell(&mut reader)?,
        TopologyKind::SingleSwitch => read_single_switch(&mut reader)?,
        TopologyKind::File => read_file(&mut reader, file)?,
    };
    let layout = plan.lay_out(&reader)?;
    let mut resolved = reader.finish()?;
    resolved.insert("hosts".to_owned(), layout.topology.hosts.into());
    resolved.insert("nodes".to_owned(), layout.topology.nodes.into());
    resolved.insert("ports".to_owned(), layout.topology.links.len().into());
    Ok((layout, resolved.into()))
}

fn read_leaf_spine(reader: &mut Reader<'_>) -> Result<Plan, Error> {
    let count = |reader: &mut Reader<'_>, name: &str| reader.given::<u32>(name);
    let (leaves, spines) = (count(reader, "leaves")?, count(reader, "spines")?);
    let hosts_per_leaf = count(reader, "hosts_per_leaf")?;
    let access_rate = given_rate(reader, "access_rate")?;
    // The ratio of the rate of a leaf's hosts to the rate of its links to the spines.
    let fabric_rate = match reader.get::<f64>("oversubscription")? {
        Some(factor) => {
            let bps = access_rate.as_bps() as f64 * f64::from(hosts_per_leaf) / (f64::from(spines.max(1)) * factor);
            let rate = if bps >= 1.0 && bps <= Rate::FASTEST_LINK.as_bps() as f64 {
                Rate::from_bps(bps.round() as u64)
            } else {
                None
            };
            rate.ok_or_else(|| {
                let problem = format!("the links to the spines would have {bps:.3e} b/s: expected 1 b/s to 8000 Gb/s");
                reader.fault("oversubscription", Misfit::of(factor, problem))
            })?
        }
        None => given_rate(reader, "fabric_rate")?,
    };
    let delay = reader.time("delay")?.expect("delay is required");
    let fabric = LeafSpine { leaves, spines, hosts_per_leaf, access_rate, fabric_rate, delay };
    reader.resolved.insert("fabric_rate_bps".to_owned(), fabric_rate.as_bps().into());
    let up = f64::from(spines) * fabric_rate.as_bps() as f64;
    let ratio = (spines > 0).then(|| f64::from(hosts_per_leaf) * access_rate.as_bps() as f64 / up);
    reader.resolved.insert("oversubscription".to_owned(), json!(ratio));
    Ok(Plan {
        sized_by: ("leaves", leaves.to_string()),
        ports: 2 * u64::from(leaves) * (u64::from(hosts_per_leaf) + u64::from(spines)),
        make: Box::new(move || fabric.topology()),
        switches: vec![("leaf", leaves), ("spine", spines)],
        rack: Some(hosts_per_leaf),
        host_ids: Vec::new(),
    })
}

fn read_two_hosts(reader: &mut Reader<'_>) -> Result<Plan, Error> {
    let rate = given_rate(reader, "rate")?;
    let delay = reader.time("delay")?.expect("delay is required");
    Ok(Plan {
        sized_by: ("kind", TopologyKind::TwoHosts.word().to_owned()),
        ports: 2,
        make: Box::new(move || Ok(Topology::two_hosts(rate, delay))),
        switches: Vec::new(),
        rack: None,
        host_ids: Vec::new(),
    })
}

fn read_fat_tree(reader: &mut Reader<'_>) -> Result<Plan, Error> {
    let k = reader.given::<u32>("k")?;
    let access_rate = given_rate(reader, "access_rate")?;
    let fabric_rate = if reader.has("fabric_rate") { given_rate(reader, "fabric_rate")? } else { access_rate };
    reader.resolved.insert("fabric_rate_bps".to_owned(), fabric_rate.as_bps().into());
    let delay = reader.time("delay")?.expect("delay is required");
    let fabric = FatTree { k, access_rate, fabric_rate, delay };
    let pods = k * k / 2;
    Ok(Plan {
        sized_by: ("k", k.to_string()),
        ports: 3 * u64::from(k).pow(3) / 2,
        make: Box::new(move || fabric.topology()),
        switches: vec![("edge", pods), ("aggregation", pods), ("core", k * k / 4)],
        rack: Some(k / 2),
        host_ids: Vec::new(),
    })
}

fn read_dumbbell(reader: &mut Reader<'_>) -> Result<Plan, Error> {
    let left = reader.given::<u32>("left_hosts")?;
    let right = reader.given::<u32>("right_hosts")?;
    let access_rate = given_rate(reader, "access_rate")?;
    let bottleneck_rate = given_rate(reader, "bottleneck_rate")?;
    let delay = reader.time("delay")?.expect("delay is required");
    let dumbbell = Dumbbell { left, right, access_rate, bottleneck_rate, delay };
    Ok(Plan {
        sized_by: ("left_hosts", left.to_string()),
        ports: 2 * (u64::from(left) + u64::from(right) + 1),
        make: Box::new(move || dumbbell.topology()),
        switches: vec![("switch", 2)],
        rack: (left == right).then_some(left),
        host_ids: Vec::new(),
    })
}

fn read_single_switch(reader: &mut Reader<'_>) -> Result<Plan, Error> {
    let hosts = reader.given::<u32>("hosts")?;
    let rate = given_rate(reader, "rate")?;
    let delay = reader.time("delay")?.expect("delay is required");
    Ok(Plan {
        sized_by: ("hosts", hosts.to_string()),
        ports: 2 * u64::from(hosts),
        make: Box::new(move || Topology::single_switch(hosts, rate, delay)),
        switches: vec![("switch", 1)],
        rack: None,
        host_ids: Vec::new(),
    })
}

/// A network from a file is made while it is read, since the file has at most `LONGEST_TEXT` bytes.
fn read_file(reader: &mut Reader<'_>, file: &str) -> Result<Plan, Error> {
    let path = beside(file, &reader.get::<String>("file")?.expect("file is required"));
    let kind = FileKind::of(&path.display().to_string());
    let mut given = Given::default();
    if kind.lacks_something() {
        given = Given {
            access: reader.rate("access_rate")?,
            fabric: reader.rate("fabric_rate")?,
            delay: reader.time("delay")?,
            hosts_per_switch: reader.get("hosts_per_switch")?,
        };
        if let Some(fabric) = given.fabric.or(given.access) {
            reader.resolved.insert("fabric_rate_bps".to_owned(), fabric.as_bps().into());
        }
    }
    if kind == FileKind::Unread {
        let problem = "is of a kind that is not read: expected TOML, .graphml (which networkx writes), .topology (Netbench), .txt (HPCC) \
                       or .topo (htsim)";
        return Err(reader.fault("file", Misfit::of(path.display().to_string(), problem)).into());
    }
    let (made, digest) =
        read_digested::<_, Error>(&path, |content, name| kind.read(&text_of(content, name)?, name, given))?;
    let FromFile { topology, host_ids, cards, unread } =
        made.map_err(|(key, problem)| reader.fault(&reader.written(key), problem))?;
    note(&mut reader.resolved, "file", digest);
    let mut switches = vec![("switch", topology.nodes - topology.hosts - cards)];
    if cards > 0 {
        switches.push(("card", cards));
        reader.resolved.insert("cards".to_owned(), cards.into());
    }
    if unread > 0 {
        reader.resolved.insert("unread_lines".to_owned(), unread.into());
    }
    Ok(Plan {
        sized_by: ("file", path.display().to_string()),
        ports: topology.links.len() as u64,
        switches,
        make: Box::new(move || Ok(topology)),
        rack: None,
        host_ids,
    })
}

/// The format of a file, given by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Toml,
    Netbench,
    GraphMl,
    Hpcc,
    Htsim,
    /// A format of other tools that is not supported.
    Unread,
}

impl FileKind {
    fn of(file: &str) -> Self {
        match file.rsplit_once('.').map_or("", |(_, extension)| extension).to_lowercase().as_str() {
            "topology" => Self::Netbench,
            "graphml" | "xml" => Self::GraphMl,
            "txt" => Self::Hpcc,
            "topo" => Self::Htsim,
            "gml" | "dot" | "json" | "gexf" => Self::Unread,
            _ => Self::Toml,
        }
    }

    /// Whether its files may lack rates, delays or hosts.
    const fn lacks_something(self) -> bool {
        matches!(self, Self::Netbench | Self::GraphMl)
    }

    /// The network in `text`, or the key that the scenario must give or must not give.
    fn read(self, text: &str, file: &str, given: Given) -> Result<Result<FromFile, Wanting>, Error> {
        let graph = match self {
            Self::Netbench => read_edge_list(text, file, given.hosts_per_switch.is_some())?,
            Self::GraphMl => read_graphml(text, file)?,
            Self::Hpcc => return Ok(Ok(read_hpcc(text, file)?)),
            Self::Htsim => return Ok(Ok(read_htsim(text, file)?.into())),
            Self::Toml | Self::Unread => return Ok(Ok(read_links(text, file)?.into())),
        };
        Ok(match graph.complete(given) {
            Ok(topology) => Ok(checked(topology, file)?.into()),
            Err(wanting) => Err(wanting),
        })
    }
}

/// The network in a text that errors call `file`; links without a rate or delay get these.
pub(crate) fn read_text(text: &str, file: &str, rate: Rate, delay: Span) -> Result<Topology, Error> {
    let given = Given { access: Some(rate), fabric: None, delay: Some(delay), hosts_per_switch: None };
    let read = FileKind::of(file).read(text, file, given)?;
    read.map(|read| read.topology).map_err(|(key, problem)| Spec::fault(file, key, problem).into())
}

fn given_rate(reader: &mut Reader<'_>, name: &str) -> Result<Rate, SpecError> {
    if !reader.has(name) {
        return Err(reader.fault(&reader.written(name), "is missing: expected the rate of these links"));
    }
    Ok(reader.rate(name)?.expect("it was written"))
}
