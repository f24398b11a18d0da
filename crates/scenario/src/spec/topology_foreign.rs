//! Networks in the formats of other tools: GraphML (networkx, the Topology Zoo), HPCC's topologies, and htsim's fat
//! trees.

use pifolab_params::exact;
use pifolab_sim::network::{Link, Topology};
use pifolab_units::{Rate, Span};
use pifolab_workload::{FileError, Place};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most nodes of a network that can be simulated.
pub(super) const MOST_NODES: u64 = 1 << 24;

/// A graph whose links may lack what a simulation needs.
pub(super) struct Graph {
    /// Nodes that send and receive, numbered before all others.
    pub(super) hosts: u32,
    /// All nodes.
    pub(super) nodes: u32,
    /// Both directions of every link, in the order of equal-cost next hops.
    pub(super) links: Vec<Edge>,
    /// Switches that get hosts if the file has none.
    pub(super) leaves: Vec<u32>,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    /// The rate; of several edges that are one link, the sum of those that are known.
    pub(super) rate: Option<Rate>,
    /// How many of these edges have no rate of their own.
    pub(super) unrated: u64,
    pub(super) delay: Option<Span>,
}

/// A network as its file describes it.
#[derive(Debug)]
pub(super) struct FromFile {
    pub(super) topology: Topology,
    /// The numbers of the hosts in the file; empty if they are numbered from 0 there, too.
    pub(super) host_ids: Vec<u32>,
    /// How many of the switches, the last ones, are cards of hosts with several links.
    pub(super) cards: u32,
    /// How many lines with text are behind the links that the file counts.
    pub(super) unread: u64,
}

impl From<Topology> for FromFile {
    fn from(topology: Topology) -> Self {
        Self { topology, host_ids: Vec::new(), cards: 0, unread: 0 }
    }
}

/// The keys of the scenario about a network in a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    pub(super) access: Option<Rate>,
    pub(super) fabric: Option<Rate>,
    pub(super) delay: Option<Span>,
    pub(super) hosts_per_switch: Option<u32>,
}

/// A key that the scenario lacks or must not have, and the problem.
pub(super) type Wanting = (&'static str, &'static str);

impl Graph {
    /// The network, completed by the values of the scenario.
    pub(super) fn complete(self, given: Given) -> Result<Topology, Wanting> {
        let Self { hosts, nodes, links, leaves } = self;
        let per_switch = match (hosts, given.hosts_per_switch) {
            (0, None) => {
                return Err((
                    "hosts_per_switch",
                    "is missing: the file has no hosts; expected how many each switch gets",
                ));
            }
            (0, Some(per_switch)) => per_switch,
            (_, None) => 0,
            (_, Some(_)) => return Err(("hosts_per_switch", "has no effect: the file has hosts; remove it")),
        };
        let shift = u64::from(per_switch) * leaves.len() as u64;
        if shift + u64::from(nodes) > MOST_NODES {
            return Err(("hosts_per_switch", "makes a network of over 16777216 nodes: expected fewer hosts"));
        }
        let shift = shift as u32;
        let mut topology = Topology { hosts: hosts + shift, nodes: nodes + shift, links: Vec::new() };
        for (at, leaf) in leaves.iter().enumerate().filter(|_| shift > 0) {
            let rate = given.access.ok_or(("access_rate", "is missing: expected the rate of the hosts' links"))?;
            let delay =
                given.delay.ok_or(("delay", "is missing: expected the propagation delay of the hosts' links"))?;
            let first = at as u32 * per_switch;
            (first..first + per_switch).for_each(|host| topology.connect(host, leaf + shift, rate, delay));
        }
        for Edge { from, to, rate, unrated, delay } in links {
            let of_host = from < hosts || to < hosts;
            let fallback = if of_host { given.access } else { given.fabric.or(given.access) };
            let key = if of_host { "access_rate" } else { "fabric_rate" };
            if unrated > 0 && fallback.is_none() {
                return Err((key, "is missing: some links of the file have no rate"));
            }
            let usual = fallback.map_or(0, Rate::as_bps).checked_mul(unrated);
            let bps = usual.and_then(|usual| usual.checked_add(rate.map_or(0, Rate::as_bps)));
            let rate = bps.and_then(Rate::from_bps).ok_or((key, "is too high: some links are several of this rate"))?;
            let delay = delay.or(given.delay).ok_or(("delay", "is missing: some links of the file have no delay"))?;
            topology.links.push(Link { from: from + shift, to: to + shift, rate, delay });
        }
        Ok(topology)
    }
}

fn fault(file: &str, line: u64, problem: impl Into<String>) -> FileError {
    let place = if line == 0 { Place::File } else { Place::Line(line) };
    FileError { file: file.to_owned(), place, problem: problem.into() }
}

/// Reads a graph in GraphML. Nodes whose attribute `type`, `role` or `kind` is `host` or `server` are hosts. Links have the
/// attributes `LinkSpeedRaw` (b/s, as in the Topology Zoo) or `rate_bps`, `rate_mbps`, `rate_gbps`, and `delay_ns`, `delay_us`,
/// `delay_ms` or `delay_s`; others are not read. Several edges between two nodes become one link with their rates together;
/// an edge without a rate has that of the scenario. A directed edge without an edge back is a link in both directions.
pub(super) fn read_graphml(text: &str, file: &str) -> Result<Graph, FileError> {
    let document = roxmltree::Document::parse(text).map_err(|error| {
        let problem = format!("not XML: {error}").replace(char::is_control, " ");
        fault(file, error.pos().row.into(), problem)
    })?;
    let line = |node: roxmltree::Node<'_, '_>| u64::from(document.text_pos_at(node.range().start).row);
    let root = document.root_element();
    let graph = match root.children().find(|node| node.tag_name().name() == "graph") {
        Some(graph) if root.tag_name().name() == "graphml" => graph,
        _ => return Err(fault(file, 1, "expected <graphml> with a <graph>")),
    };
    // Attributes have the names that the keys of the file define.
    let keys: HashMap<&str, &str> = root
        .children()
        .filter(|node| node.tag_name().name() == "key")
        .filter_map(|key| Some((key.attribute("id")?, key.attribute("attr.name")?)))
        .collect();
    let data = |node: roxmltree::Node<'_, '_>, names: &[&str]| -> Option<(String, String)> {
        node.children().filter(|child| child.tag_name().name() == "data").find_map(|child| {
            let name = *keys.get(child.attribute("key")?)?;
            names.contains(&name).then(|| (name.to_owned(), child.text().unwrap_or("").trim().to_owned()))
        })
    };
    let (mut hosts, mut switches) = (Vec::new(), Vec::new());
    for node in graph.children().filter(|node| node.tag_name().name() == "node") {
        let Some(id) = node.attribute("id") else { return Err(fault(file, line(node), "a <node> without id")) };
        let kind = data(node, &["type", "role", "kind"]).map(|(_, kind)| kind.to_lowercase());
        let is_host = kind.is_some_and(|kind| matches!(kind.as_str(), "host" | "server"));
        if is_host { hosts.push(id) } else { switches.push(id) }
    }
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    for (number, id) in (0..).zip(hosts.iter().chain(&switches)) {
        if numbers.insert(id, number).is_some() {
            return Err(fault(file, 0, format!("two nodes with the id {id:?}")));
        }
    }
    let directed = graph.attribute("edgedefault") == Some("directed");
    // In the order of the file, which is the order of equal-cost next hops.
    let mut order: Vec<(u32, u32)> = Vec::new();
    let mut found: BTreeMap<(u32, u32), Edge> = BTreeMap::new();
    for edge in graph.children().filter(|node| node.tag_name().name() == "edge") {
        let end = |name: &str| {
            let id = edge.attribute(name).unwrap_or("");
            numbers
                .get(id)
                .copied()
                .ok_or_else(|| fault(file, line(edge), format!("{name} {id:?}: expected the id of a node")))
        };
        let (from, to) = (end("source")?, end("target")?);
        if from == to {
            return Err(fault(file, line(edge), "an edge from a node to itself: expected two different nodes"));
        }
        let quantity = |units: &[(&str, u32)], zero: bool| {
            let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
            let Some((name, text)) = data(edge, &names) else { return Ok(None) };
            let (_, power) = units.iter().find(|(unit, _)| *unit == name).expect("it was one of them");
            let value = exact(&text, *power).filter(|value| zero || *value > 0);
            value.map(Some).ok_or_else(|| {
                fault(
                    file,
                    line(edge),
                    format!("{name} {text:?}: expected a number{}", if zero { "" } else { " above 0" }),
                )
            })
        };
        let rate = quantity(&[("LinkSpeedRaw", 0), ("rate_bps", 0), ("rate_mbps", 6), ("rate_gbps", 9)], false)?;
        let delay = quantity(&[("delay_ns", 3), ("delay_us", 6), ("delay_ms", 9), ("delay_s", 12)], true)?;
        let (rate, delay) = (rate.and_then(Rate::from_bps), delay.map(Span::from_ps));
        let unrated = u64::from(rate.is_none());
        for (from, to) in if directed { vec![(from, to)] } else { vec![(from, to), (to, from)] } {
            match found.get_mut(&(from, to)) {
                Some(first) => {
                    if first.delay != delay {
                        let wanted = "a further edge between two nodes: expected the delay of the first";
                        return Err(fault(file, line(edge), wanted));
                    }
                    let bps = |rate: Option<Rate>| rate.map_or(0, Rate::as_bps);
                    let Some(sum) = bps(first.rate).checked_add(bps(rate)) else {
                        return Err(fault(
                            file,
                            line(edge),
                            "a further edge between two nodes: expected rates whose sum is a rate",
                        ));
                    };
                    first.rate = Rate::from_bps(sum);
                    first.unrated += unrated;
                }
                None => {
                    order.push((from, to));
                    found.insert((from, to), Edge { from, to, rate, unrated, delay });
                }
            }
        }
    }
    // Links go both ways: an edge that is drawn in one direction only, as yEd draws them, is both.
    let mut both = Vec::new();
    for (from, to) in order {
        both.push((from, to));
        if !found.contains_key(&(to, from)) {
            found.insert((to, from), Edge { from: to, to: from, ..found[&(from, to)] });
            both.push((to, from));
        }
    }
    let (hosts, nodes) = (hosts.len() as u32, numbers.len() as u32);
    let links = both.iter().map(|ends| found[ends]).collect();
    Ok(Graph { hosts, nodes, links, leaves: (hosts..nodes).collect() })
}

/// Reads a topology of the HPCC simulator: numbers of nodes, switches and links; the switches; then source, destination,
/// rate, delay and rate of errors of each link. Like the simulator, this function reads as many links as the first line counts.
/// Nodes keep their order, but hosts are numbered before all switches.
///
/// A host has one link in a simulation. One with several gets a card, which is a switch: a link of the sum of their rates and
/// without delay leads to it, and the host's links begin there.
pub(super) fn read_hpcc(text: &str, file: &str) -> Result<FromFile, FileError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let (number, first) =
        lines.next().ok_or_else(|| fault(file, 0, "empty: expected numbers of nodes, switches and links"))?;
    let expected = "expected numbers of nodes, switches and links";
    let numbers: Vec<Option<u64>> = first.split_whitespace().map(|word| word.parse().ok()).collect();
    let &[Some(nodes), Some(switches), Some(count)] = numbers.as_slice() else {
        return Err(fault(file, number, format!("{first}: {expected}")));
    };
    if nodes > MOST_NODES || switches > nodes {
        return Err(fault(file, number, format!("{first}: expected up to {MOST_NODES} nodes, and no more switches")));
    }
    let (nodes, hosts) = (nodes as u32, (nodes - switches) as u32);
    let (number, words) = lines.next().unwrap_or((2, ""));
    let listed: BTreeSet<u32> = words.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let count_listed = words.split_whitespace().count() as u64;
    if listed.len() as u64 != switches || count_listed != switches || listed.last().is_some_and(|last| *last >= nodes) {
        let problem = format!("expected the numbers of the {switches} switches, each below {nodes}");
        return Err(fault(file, number, problem));
    }
    let host_ids: Vec<u32> = (0..nodes).filter(|node| !listed.contains(node)).collect();
    let mut numbers = vec![0; nodes as usize];
    for (number, id) in (0..).zip(host_ids.iter().chain(&listed)) {
        numbers[*id as usize] = number;
    }
    let mut topology = Topology { hosts, nodes, links: Vec::new() };
    for (number, line) in lines.by_ref().take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[from, to, rate, delay, errors] = words.as_slice() else {
            return Err(fault(
                file,
                number,
                format!("{line}: expected source, destination, rate, delay and rate of errors"),
            ));
        };
        let node = |text: &str| {
            let node = text.parse().ok().and_then(|node: u32| numbers.get(node as usize).copied());
            node.ok_or_else(|| fault(file, number, format!("{text}: expected a node below {nodes}")))
        };
        let (from, to) = (node(from)?, node(to)?);
        let bps = with_unit(rate, &RATE_UNITS).and_then(Rate::from_bps);
        let bps = bps.ok_or_else(|| fault(file, number, format!("{rate}: expected a rate such as 100Gbps")))?;
        let ps = with_unit(delay, &TIME_UNITS);
        let ps = ps.ok_or_else(|| fault(file, number, format!("{delay}: expected a time such as 1us")))?;
        if exact(errors, 0) != Some(0) {
            return Err(fault(
                file,
                number,
                format!("{errors}: expected a rate of errors of 0: links lose nothing here"),
            ));
        }
        topology.connect(from, to, bps, Span::from_ps(ps));
    }
    let links = topology.links.len() as u64 / 2;
    if links != count {
        return Err(fault(file, 0, format!("has {links} links, where its first line counts {count}")));
    }
    let cards = add_cards(&mut topology)
        .ok_or_else(|| fault(file, 0, "a host with several links: expected rates whose sum is a rate"))?;
    let is_identity = host_ids.last().is_none_or(|last| *last + 1 == hosts);
    Ok(FromFile {
        topology: checked(topology, file)?,
        host_ids: if is_identity { Vec::new() } else { host_ids },
        cards,
        unread: lines.count() as u64,
    })
}

/// Gives a card to each host with several links, after all switches; returns how many there are, or `None` if a sum of rates
/// is too high.
fn add_cards(topology: &mut Topology) -> Option<u32> {
    let mut rates: Vec<Vec<Rate>> = vec![Vec::new(); topology.hosts as usize];
    for link in topology.links.iter().filter(|link| link.from < topology.hosts) {
        rates[link.from as usize].push(link.rate);
    }
    let mut card_of = HashMap::new();
    for (host, rates) in (0..).zip(&rates).filter(|(_, rates)| rates.len() > 1) {
        let sum = rates.iter().try_fold(0u64, |sum, rate| sum.checked_add(rate.as_bps())).and_then(Rate::from_bps)?;
        card_of.insert(host, (topology.nodes, sum));
        topology.nodes += 1;
    }
    let moved = |node: u32| card_of.get(&node).map_or(node, |(card, _)| *card);
    for link in &mut topology.links {
        (link.from, link.to) = (moved(link.from), moved(link.to));
    }
    for host in 0..topology.hosts {
        if let Some((card, rate)) = card_of.get(&host) {
            topology.connect(host, *card, *rate, Span::ZERO);
        }
    }
    Some(card_of.len() as u32)
}

/// The units of ns-3, as powers of ten of bits per second.
const RATE_UNITS: [(&str, u32); 8] =
    [("Gbps", 9), ("Mbps", 6), ("kbps", 3), ("Kbps", 3), ("Gb/s", 9), ("Mb/s", 6), ("kb/s", 3), ("bps", 0)];
/// As powers of ten of picoseconds.
const TIME_UNITS: [(&str, u32); 5] = [("ms", 9), ("us", 6), ("ns", 3), ("ps", 0), ("s", 12)];

fn with_unit(text: &str, units: &[(&str, u32)]) -> Option<u64> {
    units.iter().find_map(|(unit, power)| exact(text.strip_suffix(unit)?, *power))
}

pub(super) fn checked(topology: Topology, file: &str) -> Result<Topology, FileError> {
    topology.check().map_err(|error| fault(file, 0, format!("{} = {}: {}", error.key, error.value, error.expected)))?;
    Ok(topology)
}

/// The keys of a tier in a file of htsim, with their defaults.
#[derive(Clone, Copy, Default)]
struct Tier {
    line: u64,
    gbps: Option<u64>,
    down: Option<u64>,
    up: Option<u64>,
    link_ps: u64,
    switch_ps: u64,
}

/// Reads a `.topo` file of htsim: a fat tree of two or three tiers. The latency of a switch is added to the delay of
/// the links to it. Lengths of queues are ignored: the scenario's schedulers have capacities.
pub(super) fn read_htsim(text: &str, file: &str) -> Result<Topology, FileError> {
    let (mut nodes, mut tiers, mut pod) = (None, None, None);
    let mut found: Vec<Tier> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let Some((key, value)) = line.split_once(char::is_whitespace) else {
            return Err(fault(file, number, format!("{line}: expected a key and a number")));
        };
        let value = value.trim();
        let whole =
            |power| exact(value, power).ok_or_else(|| fault(file, number, format!("{line}: expected a number")));
        let key = key.to_lowercase();
        let next = found.len();
        match (key.as_str(), found.last_mut()) {
            ("nodes", None) => nodes = Some(whole(0)?),
            ("tiers", None) => tiers = Some(whole(0)?),
            ("podsize", None) => pod = Some(whole(0)?),
            ("tier", _) if whole(0)? == next as u64 => found.push(Tier { line: number, ..Tier::default() }),
            ("tier", _) => return Err(fault(file, number, format!("{line}: expected tier {next}"))),
            ("downlink_speed_gbps", Some(tier)) => tier.gbps = Some(whole(9)?),
            ("radix_down", Some(tier)) => tier.down = Some(whole(0)?),
            ("radix_up", Some(tier)) => tier.up = Some(whole(0)?),
            ("downlink_latency_ns", Some(tier)) => tier.link_ps = whole(3)?,
            ("switch_latency_ns", Some(tier)) => tier.switch_ps = whole(3)?,
            ("bundle", Some(_)) if whole(0)? != 1 => {
                return Err(fault(file, number, format!("{line}: expected 1; parallel links are not supported")));
            }
            ("bundle" | "oversubscribed" | "queue_up" | "queue_down", Some(_)) => {}
            _ => {
                let known = "Nodes, Tiers, Podsize, Tier, and for each tier Downlink_speed_Gbps, Radix_Down, Radix_Up, \
                             Downlink_Latency_ns, Switch_Latency_ns, Oversubscribed, Bundle, Queue_Up, Queue_Down";
                return Err(fault(file, number, format!("{line}: unknown key here; expected one of {known}")));
            }
        }
    }
    let missing = |key: &str| fault(file, 0, format!("has no {key}"));
    let (nodes, pod) = (nodes.ok_or_else(|| missing("Nodes"))?, pod.ok_or_else(|| missing("Podsize"))?);
    if !matches!(tiers, Some(2 | 3)) || found.len() as u64 != tiers.unwrap_or(0) {
        let listed = found.len();
        return Err(fault(file, 0, format!("lists {listed} tiers: expected 2 or 3, as many as Tiers says")));
    }
    let of = |tier: usize, name: &str, value: Option<u64>| {
        value
            .filter(|value| *value > 0)
            .ok_or_else(|| fault(file, found[tier].line, format!("tier {tier} has no {name}")))
    };
    let down: Vec<u64> =
        (0..found.len()).map(|tier| of(tier, "Radix_Down", found[tier].down)).collect::<Result<_, _>>()?;
    let rates: Vec<u64> =
        (0..found.len()).map(|tier| of(tier, "Downlink_speed_Gbps", found[tier].gbps)).collect::<Result<_, _>>()?;
    let up: Vec<u64> =
        (0..found.len() - 1).map(|tier| of(tier, "Radix_Up", found[tier].up)).collect::<Result<_, _>>()?;
    if nodes > MOST_NODES || pod == 0 || nodes == 0 || nodes % pod != 0 || pod % down[0] != 0 {
        let problem = format!(
            "Nodes {nodes}, Podsize {pod}, Radix_Down {} of tier 0: expected each a multiple of the next, up to {MOST_NODES}",
            down[0]
        );
        return Err(fault(file, 0, problem));
    }
    let (pods, racks) = (nodes / pod, pod / down[0]);
    // Each switch of a tier is linked to every switch of the next, in its pod.
    let ports = |tier: usize, uplinks: u64, groups: u64| {
        if uplinks.is_multiple_of(groups) {
            return Ok(uplinks / groups);
        }
        Err(fault(
            file,
            found[tier].line,
            format!("{uplinks} links come up to switches with Radix_Down {groups}: expected a multiple"),
        ))
    };
    let middle = ports(1, racks * up[0], down[1])?;
    if middle != up[0] {
        let problem = format!("{middle} switches above the {} links up of each switch below: expected as many", up[0]);
        return Err(fault(file, found[1].line, problem));
    }
    let rate = |tier: usize| Rate::from_bps(rates[tier]).expect("above 0");
    let (first, second) = (nodes as u32, (nodes + pods * racks) as u32);
    let mut topology = Topology { hosts: nodes as u32, nodes: second, links: Vec::new() };
    let mut connect = |below: u32, above: u32, tier: usize| {
        let Tier { link_ps, switch_ps, .. } = found[tier];
        let back = if tier == 0 { 0 } else { found[tier - 1].switch_ps };
        let rate = rate(tier);
        topology.links.push(Link {
            from: below,
            to: above,
            rate,
            delay: Span::from_ps(link_ps.saturating_add(switch_ps)),
        });
        topology.links.push(Link { from: above, to: below, rate, delay: Span::from_ps(link_ps.saturating_add(back)) });
    };
    (0..nodes as u32).for_each(|host| connect(host, first + host / down[0] as u32, 0));
    for rack in 0..(pods * racks) as u32 {
        let of_pod = second + rack / racks as u32 * middle as u32;
        (of_pod..of_pod + middle as u32).for_each(|above| connect(first + rack, above, 1));
    }
    let mut all = u64::from(second) + pods * middle;
    if found.len() == 3 {
        let third = all as u32;
        let cores = ports(2, pods * middle * up[1], down[2])?;
        if cores != middle * up[1] {
            let problem =
                format!("{cores} switches above {middle} with {} links up each: expected {}", up[1], middle * up[1]);
            return Err(fault(file, found[2].line, problem));
        }
        for above in 0..(pods * middle) as u32 {
            let place = above % middle as u32;
            for link in 0..up[1] as u32 {
                connect(second + above, third + place + middle as u32 * link, 2);
            }
        }
        all += cores;
    } else if pods != 1 {
        return Err(fault(file, 0, format!("Podsize {pod}: expected {nodes}, all nodes, where there are two tiers")));
    }
    topology.nodes = all as u32;
    checked(topology, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NETWORKX: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<key id="d2" for="edge" attr.name="delay_us" attr.type="double" />
<key id="d1" for="edge" attr.name="rate_gbps" attr.type="long" />
<key id="d0" for="node" attr.name="type" attr.type="string" />
<graph edgedefault="undirected">
<node id="a"><data key="d0">switch</data></node>
<node id="h0"><data key="d0">host</data></node>
<node id="h1"><data key="d0">host</data></node>
<edge source="h0" target="a"><data key="d1">10</data><data key="d2">1.5</data></edge>
<edge source="h1" target="a"><data key="d1">25</data></edge>
</graph></graphml>"#;

    fn zoo(edges: &str) -> String {
        let nodes: String =
            (0..3).map(|id| format!("<node id=\"{id}\"><data key=\"d29\">{id}.5</data></node>\n")).collect();
        format!(
            "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n<key attr.name=\"Latitude\" attr.type=\"double\" for=\"node\" \
             id=\"d29\" />\n<key attr.name=\"LinkSpeedRaw\" attr.type=\"double\" for=\"edge\" id=\"d35\" />\n<key \
             attr.name=\"LinkLabel\" attr.type=\"string\" for=\"edge\" id=\"d36\" />\n<graph \
             edgedefault=\"undirected\">\n{nodes}{edges}</graph></graphml>"
        )
    }

    fn edge(a: u32, b: u32, speed: &str) -> String {
        format!("<edge source=\"{a}\" target=\"{b}\"><data key=\"d36\">OC-3</data>{speed}</edge>\n")
    }

    fn speed(bps: &str) -> String {
        format!("<data key=\"d35\">{bps}</data>")
    }

    #[test]
    fn a_graph_of_networkx_has_its_hosts_first_and_what_it_says_of_links() {
        let delay = Some(Span::from_ns(7));
        let topology = read_graphml(NETWORKX, "g").unwrap().complete(Given { delay, ..Given::default() }).unwrap();
        assert_eq!((topology.hosts, topology.nodes, topology.check().is_ok()), (2, 3, true));
        let links: Vec<_> =
            topology.links.iter().map(|l| (l.from, l.to, l.rate.as_bps() / 1_000_000_000, l.delay.as_ps())).collect();
        assert_eq!(links, [(0, 2, 10, 1_500_000), (2, 0, 10, 1_500_000), (1, 2, 25, 7_000), (2, 1, 25, 7_000)]);
        let wanting = |given| read_graphml(NETWORKX, "g").unwrap().complete(given).unwrap_err().0;
        assert_eq!(wanting(Given::default()), "delay");
        assert_eq!(wanting(Given { delay, hosts_per_switch: Some(1), ..Given::default() }), "hosts_per_switch");
    }

    #[test]
    fn a_graph_of_the_topology_zoo_gets_hosts_at_every_node() {
        let text = zoo(&[edge(0, 1, &speed("1e9")), edge(1, 2, ""), edge(1, 0, &speed("155000000.0"))].concat());
        let given = Given {
            access: Some(Rate::from_gbps(1)),
            fabric: Some(Rate::from_gbps(2)),
            delay: Some(Span::from_us(1)),
            hosts_per_switch: Some(2),
        };
        let topology = read_graphml(&text, "g").unwrap().complete(given).unwrap();
        assert_eq!((topology.hosts, topology.nodes, topology.check().is_ok()), (6, 9, true));
        let rates: Vec<_> = topology
            .links
            .iter()
            .filter(|l| l.from >= 6 && l.to >= 6)
            .map(|l| (l.from, l.to, l.rate.as_bps()))
            .collect();
        let (both, fabric) = (1_155_000_000, 2_000_000_000);
        assert_eq!(rates, [(6, 7, both), (7, 6, both), (7, 8, fabric), (8, 7, fabric)]);
        assert!(topology.links.iter().any(|l| (l.from, l.to) == (5, 8)));
        let wanting = |given| read_graphml(&text, "g").unwrap().complete(given).unwrap_err().0;
        assert_eq!(wanting(Given { hosts_per_switch: None, ..given }), "hosts_per_switch");
        assert_eq!(wanting(Given { access: None, ..given }), "access_rate");
        assert_eq!(wanting(Given { delay: None, ..given }), "delay");
    }

    #[test]
    fn each_fault_of_a_graph_names_its_line() {
        let message = |text: &str| read_graphml(text, "g").err().unwrap().to_string();
        assert!(message("<graphml><graph>").starts_with("g:1: not XML: "), "{}", message("<graphml><graph>"));
        assert_eq!(message("<gexf><graph/></gexf>"), "g:1: expected <graphml> with a <graph>");
        assert_eq!(message(&zoo(&edge(0, 9, ""))), "g:9: target \"9\": expected the id of a node");
        assert_eq!(message(&zoo(&edge(1, 1, ""))), "g:9: an edge from a node to itself: expected two different nodes");
        assert_eq!(message(&zoo(&edge(0, 1, &speed("fast")))), "g:9: LinkSpeedRaw \"fast\": expected a number above 0");
        assert_eq!(message(&zoo(&edge(0, 1, &speed("0")))), "g:9: LinkSpeedRaw \"0\": expected a number above 0");
        let twice = zoo(&[edge(0, 1, &speed("18446744073709551615")), edge(0, 1, &speed("1"))].concat());
        assert_eq!(message(&twice), "g:10: a further edge between two nodes: expected rates whose sum is a rate");
        let one_way = zoo(&edge(0, 1, "")).replace("undirected", "directed");
        let both_ways = zoo(&[edge(0, 1, ""), edge(1, 0, "")].concat()).replace("undirected", "directed");
        let links =
            |text: &str| read_graphml(text, "g").unwrap().links.iter().map(|link| (link.from, link.to)).collect();
        let found: [Vec<(u32, u32)>; 2] = [links(&one_way), links(&both_ways)];
        assert_eq!(found, [[(0, 1), (1, 0)]; 2], "a directed edge is a link in both directions");
        assert_eq!(message(&zoo("").replace("id=\"1\"", "id=\"0\"")), "g: two nodes with the id \"0\"");
        assert_eq!(message(&zoo("").replace("<node id=\"1\"", "<node")), "g:7: a <node> without id");
    }

    #[test]
    fn a_topology_of_hpcc_is_read() {
        let text = "4 1 3\n3\n0 3 25Gbps 1000ns 0.000000\n1 3 25Gbps 0.001ms 0\n2 3 100Gbps 2us 0\n";
        let FromFile { topology, host_ids, cards, unread } = read_hpcc(text, "t").unwrap();
        assert_eq!((host_ids, cards, unread), (vec![], 0, 0));
        let more = format!("{text}2 1 25Gbps 1us 0\n\nFirst line: numbers\n");
        let more = read_hpcc(&more, "t").unwrap();
        assert_eq!((more.topology.links, more.unread), (topology.links.clone(), 2));
        let links: Vec<_> = topology.links.iter().map(|l| (l.from, l.to, l.rate.as_bps(), l.delay.as_ps())).collect();
        assert_eq!((topology.hosts, topology.nodes, links.len()), (3, 4, 6));
        assert_eq!(links[3], (3, 1, 25_000_000_000, 1_000_000));
        assert_eq!(links[4], (2, 3, 100_000_000_000, 2_000_000));
        let message = |text: &str| read_hpcc(text, "t").err().unwrap().to_string();
        assert_eq!(message(""), "t: empty: expected numbers of nodes, switches and links");
        assert_eq!(message("4 1\n"), "t:1: 4 1: expected numbers of nodes, switches and links");
        assert_eq!(message("1 2 3\n"), "t:1: 1 2 3: expected up to 16777216 nodes, and no more switches");
        for switches in ["4", "0 1", "0 0", "x"] {
            let problem = "t:2: expected the numbers of the 1 switches, each below 4";
            assert_eq!(message(&format!("4 1 3\n{switches}\n0 1 1Gbps 1us 0\n")), problem, "{switches}");
        }
        let link = |link: &str| message(&format!("2 1 1\n1\n{link}\n"));
        assert_eq!(link("0 1 25Gbps"), "t:3: 0 1 25Gbps: expected source, destination, rate, delay and rate of errors");
        assert_eq!(link("0 2 25Gbps 1us 0"), "t:3: 2: expected a node below 2");
        assert_eq!(link("0 1 25 1us 0"), "t:3: 25: expected a rate such as 100Gbps");
        assert_eq!(link("0 1 25Gbps 1 0"), "t:3: 1: expected a time such as 1us");
        assert_eq!(link("0 1 25Gbps 1us 0.1"), "t:3: 0.1: expected a rate of errors of 0: links lose nothing here");
        assert_eq!(link(""), "t: has 0 links, where its first line counts 1");
        assert_eq!(message("3 1 1\n2\n0 2 25Gbps 1us 0\n"), "t: host 1 = 0 links out: expected exactly 1");
    }

    proptest! {
        /// However nodes are numbered in the file, and whatever links hosts have: the order of hosts and of switches is kept, and a
        /// host with several links has one, of the sum of their rates, to a card that has the links of the file.
        #[test]
        fn any_numbering_and_any_number_of_links_of_a_host_is_read(
            is_host in prop::collection::vec(any::<bool>(), 2..12).prop_filter("both kinds", |kinds| {
                kinds.contains(&true) && kinds.contains(&false)
            }),
            wanted in prop::collection::vec(1usize..4, 12),
        ) {
            let of = |kind: bool| (0u32..).zip(&is_host).filter(|(_, is)| **is == kind).map(|(id, _)| id).collect::<Vec<_>>();
            let (ids, switches) = (of(true), of(false));
            let mut links = Vec::new();
            for (at, host) in ids.iter().enumerate() {
                for place in 0..wanted[at].min(switches.len()) {
                    links.push((*host, switches[(at + place) % switches.len()], 10 + place as u64));
                }
            }
            let listed: Vec<_> = switches.iter().map(u32::to_string).collect();
            let rows: String = links.iter().map(|(a, b, rate)| format!("{a} {b} {rate}Gbps 1us 0\n")).collect();
            let text = format!("{} {} {}\n{}\n{rows}", is_host.len(), switches.len(), links.len(), listed.join(" "));
            let FromFile { topology, host_ids, cards, .. } = read_hpcc(&text, "t").unwrap();
            let hosts = ids.len() as u32;
            prop_assert_eq!(topology.hosts, hosts);
            prop_assert_eq!(topology.nodes, is_host.len() as u32 + cards);
            prop_assert_eq!(host_ids.is_empty(), ids.iter().copied().eq(0..hosts));
            prop_assert!(host_ids.is_empty() || host_ids == ids);
            let several = wanted[..ids.len()].iter().filter(|links| (**links).min(switches.len()) > 1).count();
            prop_assert_eq!(cards as usize, several);
            for (at, id) in (0..).zip(&ids) {
                let own: Vec<_> = links.iter().filter(|link| link.0 == *id).collect();
                let [out] = topology.links.iter().filter(|link| link.from == at).collect::<Vec<_>>()[..] else {
                    panic!("one link")
                };
                prop_assert_eq!(out.rate, Rate::from_gbps(own.iter().map(|link| link.2).sum()));
                let base = is_host.len() as u32;
                prop_assert_eq!(out.to >= base, own.len() > 1);
                let begin = if own.len() > 1 { out.to } else { at };
                let ends: Vec<_> = topology.links.iter().filter(|link| link.from == begin && link.to != at).collect();
                prop_assert_eq!(ends.len(), own.len());
                for (end, (_, switch, rate)) in ends.iter().zip(&own) {
                    let number = hosts + switches.iter().position(|one| one == switch).unwrap() as u32;
                    prop_assert_eq!((end.to, end.rate), (number, Rate::from_gbps(*rate)));
                }
            }
        }
    }

    #[test]
    fn several_edges_without_rates_are_one_link_of_as_many_rates() {
        let rated = speed("5000000000");
        let given = Given {
            access: Some(Rate::from_gbps(1)),
            delay: Some(Span::ZERO),
            hosts_per_switch: Some(1),
            fabric: None,
        };
        for (edges, gbps) in
            [(vec![""], 1), (vec!["", ""], 2), (vec!["", "", ""], 3), (vec!["", &rated], 6), (vec![&rated, &rated], 10)]
        {
            let text = zoo(&edges.iter().map(|more| edge(0, 1, more)).collect::<String>());
            let topology = read_graphml(&text, "g").unwrap().complete(given).unwrap();
            let fabric = topology.links.iter().filter(|link| link.from.min(link.to) >= topology.hosts);
            assert!(fabric.map(|link| link.rate).eq([Rate::from_gbps(gbps); 2]), "{edges:?}");
        }
        let text = zoo(&[edge(0, 1, ""), edge(0, 1, "")].concat());
        let given = Given { fabric: Rate::from_bps(u64::MAX), ..given };
        let wanting = read_graphml(&text, "g").unwrap().complete(given).unwrap_err();
        assert_eq!(wanting, ("fabric_rate", "is too high: some links are several of this rate"));
    }

    fn tier(number: u32, down: u32, up: &str, gbps: &str) -> String {
        format!(
            "Tier {number}\nDownlink_speed_Gbps {gbps}\nRadix_Down {down}\n{up}Downlink_Latency_ns 1000\nSwitch_Latency_ns {number}50\n"
        )
    }

    #[test]
    fn a_fat_tree_of_htsim_is_read_in_two_and_three_tiers() {
        let up = "Radix_Up 2\nBundle 1\nQueue_Up 100\n";
        let two = format!("# small\nNodes 6\nTiers 2\nPodsize 6\n{}{}", tier(0, 3, up, "100"), tier(1, 2, "", "200"));
        let topology = read_htsim(&two, "t").unwrap();
        assert_eq!((topology.hosts, topology.nodes, topology.links.len()), (6, 10, 2 * (6 + 4)));
        let of = |from, to| {
            topology
                .links
                .iter()
                .find(|l| (l.from, l.to) == (from, to))
                .map(|l| (l.rate.as_bps() / 1_000_000_000, l.delay.as_ns()))
        };
        // A link up includes the latency of the switch above, a link down that of the switch below.
        assert_eq!((of(4, 7), of(7, 4)), (Some((100, 1050)), Some((100, 1000))));
        assert_eq!((of(7, 9), of(9, 7)), (Some((200, 1150)), Some((200, 1050))));
        assert_eq!((of(3, 6), of(6, 7)), (None, None));
        let three = format!(
            "nodes 8\ntiers 3\npodsize 4\n{}{}{}",
            tier(0, 2, up, "100"),
            tier(1, 2, up, "100"),
            tier(2, 2, "", "100")
        );
        let topology = read_htsim(&three, "t").unwrap();
        assert_eq!((topology.hosts, topology.nodes, topology.links.len()), (8, 20, 2 * (8 + 8 + 8)));
        // The first switch of each pod has the even cores, the second the odd ones.
        let above: Vec<_> = topology.links.iter().filter(|l| l.from == 13 && l.to >= 16).map(|l| l.to).collect();
        assert_eq!(above, [17, 19]);

        let message = |text: &str| read_htsim(text, "t").err().unwrap().to_string();
        assert_eq!(message("Nodes\n"), "t:1: Nodes: expected a key and a number");
        assert_eq!(message("Nodes x\n"), "t:1: Nodes x: expected a number");
        assert_eq!(message("Tier 1\n"), "t:1: Tier 1: expected tier 0");
        assert!(
            message("Nodes 6\nRadix_Down 3\n")
                .starts_with("t:2: Radix_Down 3: unknown key here; expected one of Nodes,")
        );
        assert_eq!(message(""), "t: has no Nodes");
        assert_eq!(message("Nodes 6\n"), "t: has no Podsize");
        assert_eq!(
            message("Nodes 6\nPodsize 6\nTiers 4\n"),
            "t: lists 0 tiers: expected 2 or 3, as many as Tiers says"
        );
        assert_eq!(
            message(&two.replace("Bundle 1", "Bundle 2")),
            "t:9: Bundle 2: expected 1; parallel links are not supported"
        );
        assert_eq!(message(&two.replace("Radix_Up 2\n", "")), "t:5: tier 0 has no Radix_Up");
        assert_eq!(
            message(&two.replace("Nodes 6", "Nodes 7")),
            "t: Nodes 7, Podsize 6, Radix_Down 3 of tier 0: expected each a multiple of the next, up to 16777216"
        );
        assert_eq!(
            message(&two.replace("Radix_Down 2", "Radix_Down 3")),
            "t:13: 4 links come up to switches with Radix_Down 3: expected a multiple"
        );
        assert_eq!(
            message(&two.replace("Radix_Down 2", "Radix_Down 4")),
            "t:13: 1 switches above the 2 links up of each switch below: expected as many"
        );
        assert_eq!(
            message(&two.replace("Podsize 6", "Podsize 3").replace("Radix_Down 2", "Radix_Down 1")),
            "t: Podsize 3: expected 6, all nodes, where there are two tiers"
        );
        assert_eq!(
            message(&three.replace(
                "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 2",
                "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4"
            )),
            "t:20: 2 switches above 2 with 2 links up each: expected 4"
        );
    }
}
