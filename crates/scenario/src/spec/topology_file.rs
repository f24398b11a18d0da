//! Networks from files: pifolab's own TOML, and the edge lists of Netbench; `topology_foreign.rs` has other formats.

use super::topology_fields::{FILE_LINK, TOPOLOGY_FILE};
use super::topology_foreign::{Edge, Graph, MOST_NODES};
use super::written::Spec;
use crate::error::{Error, SpecError};
use crate::fields::Reader;
use pifolab_params::Misfit;
use pifolab_sim::network::Topology;
use pifolab_workload::{FileError, Place};
use std::collections::BTreeSet;
use std::io::Read;

/// The largest file of a network, enough for half a million links in TOML.
const LONGEST_TEXT: u64 = 64 << 20;

/// The text of a file that errors call `file`.
pub(super) fn text_of(content: &mut impl Read, file: &str) -> Result<String, FileError> {
    let fault = |place, problem: String| Err(FileError { file: file.to_owned(), place, problem });
    let mut bytes = Vec::new();
    match content.take(LONGEST_TEXT + 1).read_to_end(&mut bytes) {
        Ok(length) if length as u64 > LONGEST_TEXT => {
            fault(Place::File, "has over 64 MiB: expected at most 64 MiB of text".to_owned())
        }
        Ok(_) => String::from_utf8(bytes).or_else(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count() as u64;
            fault(Place::Line(line), "not UTF-8 text".to_owned())
        }),
        Err(error) => fault(Place::File, format!("cannot be read: {error}")),
    }
}

/// Reads a network in TOML: numbers of hosts and switches, and links with their rates and delays.
pub(crate) fn read_links(text: &str, file: &str) -> Result<Topology, Error> {
    let mut reader = Reader::new(crate::text::parse(text, file)?, file, TOPOLOGY_FILE)?;
    reader.get::<String>("title")?;
    let hosts = reader.given::<u32>("hosts")?;
    let nodes = hosts + reader.given::<u32>("switches")?;
    let (rate, delay) = (reader.rate("rate")?, reader.time("delay")?);
    let mut topology = Topology { hosts, nodes, links: Vec::new() };
    for section in reader.tables("link")? {
        let mut link = Reader::new(section, file, FILE_LINK)?;
        let mut end = |name: &str| {
            let node = link.given::<u64>(name)?;
            if node < u64::from(nodes) {
                return Ok(node as u32);
            }
            Err(link.fault(name, Misfit::of(node, format!("expected a node below {nodes}, hosts first"))))
        };
        let (a, b) = (end("a")?, end("b")?);
        let missing = |link: &Reader<'_>, name: &str| {
            link.fault(&link.written(name), "is missing here and at the top: expected it for each link, or for all")
        };
        let rate = link.rate("rate")?.or(rate).ok_or_else(|| missing(&link, "rate"))?;
        let delay = link.time("delay")?.or(delay).ok_or_else(|| missing(&link, "delay"))?;
        if a == b {
            return Err(link.fault("b", Misfit::of(b, "expected a node other than a")).into());
        }
        link.finish()?;
        topology.connect(a, b, rate, delay);
    }
    reader.finish()?;
    topology
        .check()
        .map_err(|error| -> SpecError { Spec::fault(file, &error.key, Misfit::of(&error.value, error.expected)) })?;
    Ok(topology)
}

/// Reads a `.topology` file of Netbench: `|V|`, `|E|`, the servers, and every direction of every link on a line of its
/// own, whose order is the order of equal-cost next hops. With `attach` each of its ToRs becomes a switch that gets
/// hosts, as in Netbench's extension by servers; else its servers are the hosts, each with one link.
pub(super) fn read_edge_list(text: &str, file: &str, attach: bool) -> Result<Graph, FileError> {
    let fault = |line: usize, problem: String| FileError {
        file: file.to_owned(),
        place: if line == 0 { Place::File } else { Place::Line(line as u64) },
        problem,
    };
    let (mut nodes, mut edges, mut servers, mut tors) = (None, None, None, Vec::new());
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((key, value)) = line.split_once('=') {
            let count = || {
                let count = value.trim().parse::<u64>().ok().filter(|count| *count <= MOST_NODES);
                count.ok_or_else(|| fault(number, format!("{line}: expected a number up to {MOST_NODES}")))
            };
            match key.trim() {
                "|V|" => nodes = Some(count()? as u32),
                "|E|" => edges = Some(count()?),
                name @ ("Servers" | "ToRs") => {
                    let problem = "expected incl_range(FIRST,LAST) or set(A,B,...)";
                    let listed = members(value.trim()).ok_or_else(|| fault(number, format!("{line}: {problem}")))?;
                    if name == "ToRs" {
                        tors = listed;
                        continue;
                    }
                    if attach {
                        servers = Some(listed.len() as u32);
                        continue;
                    }
                    if !listed.iter().copied().eq(0..listed.len() as u32) || listed.is_empty() {
                        let problem = "expected servers to be numbered from 0, before all other nodes";
                        return Err(fault(number, format!("{line}: {problem}")));
                    }
                    servers = Some(listed.len() as u32);
                }
                // The links show which switches have servers.
                "Switches" => {}
                other => {
                    let known = "|V|, |E|, Servers, Switches, ToRs";
                    return Err(fault(number, format!("unknown key {other}: expected one of {known}")));
                }
            }
            continue;
        }
        let ends: Vec<Option<u32>> = line.split_whitespace().map(|end| end.parse().ok()).collect();
        let (&[Some(from), Some(to)], Some(nodes)) = (ends.as_slice(), nodes) else {
            let problem = "expected two nodes, after |V|, |E| and Servers";
            return Err(fault(number, format!("{line}: {problem}")));
        };
        if from >= nodes || to >= nodes || from == to {
            return Err(fault(number, format!("{line}: expected two different nodes below {nodes}")));
        }
        if !seen.insert((from, to)) {
            return Err(fault(number, format!("{line}: duplicate edge; parallel links are not supported")));
        }
        pairs.push((from, to));
    }
    let missing = |key: &str| fault(0, format!("has no {key}"));
    let (nodes, edges) = (nodes.ok_or_else(|| missing("|V|"))?, edges.ok_or_else(|| missing("|E|"))?);
    let hosts = servers.ok_or_else(|| missing("Servers"))?;
    if pairs.len() as u64 != edges {
        return Err(fault(0, format!("has {} edges, where |E| says {edges}", pairs.len())));
    }
    if let Some((from, to)) = pairs.iter().find(|(from, to)| !seen.contains(&(*to, *from))) {
        return Err(fault(0, format!("the edge {from} {to} has no edge {to} {from}: links go both ways")));
    }
    if attach && (tors.is_empty() || tors.iter().any(|tor| *tor >= nodes)) {
        return Err(fault(0, format!("has no ToRs below {nodes}, which would get the hosts of hosts_per_switch")));
    }
    let hosts = if attach { 0 } else { hosts };
    let links = pairs.iter().map(|&(from, to)| Edge { from, to, rate: None, unrated: 1, delay: None }).collect();
    let mut links_of: Vec<u32> = vec![0; hosts as usize];
    pairs.iter().filter(|(from, _)| *from < hosts).for_each(|(from, _)| links_of[*from as usize] += 1);
    if let Some(host) = links_of.iter().position(|links| *links != 1) {
        let problem = format!(
            "server {host} has {} links: expected 1; where the servers are the ToRs, hosts_per_switch gives each of them hosts",
            links_of[host]
        );
        return Err(fault(0, problem));
    }
    Ok(Graph { hosts, nodes, links, leaves: tors })
}

/// The members of `incl_range(FIRST,LAST)` or `set(A,B,...)`.
fn members(text: &str) -> Option<Vec<u32>> {
    let numbers = |inside: &str| {
        let listed = inside.split(',').map(str::trim).filter(|member| !member.is_empty());
        listed.map(|member| member.parse().ok()).collect::<Option<Vec<u32>>>()
    };
    if let Some(range) = text.strip_prefix("incl_range(").and_then(|rest| rest.strip_suffix(')')) {
        return match numbers(range)?.as_slice() {
            &[first, last] if u64::from(last) <= MOST_NODES => Some((first..=last).collect()),
            _ => None,
        };
    }
    numbers(text.strip_prefix("set(")?.strip_suffix(')')?)
}

#[cfg(test)]
mod tests {
    use super::super::topology_foreign::Given;
    use super::*;
    use pifolab_units::{Rate, Span};

    /// A ring of three ToRs that are also the servers.
    #[test]
    fn servers_that_are_the_tors_become_switches_with_hosts() {
        let text = "|V|=3\n|E|=6\nToRs=incl_range(0,2)\nServers=incl_range(0,2)\nSwitches=set()\n\n0 1\n1 0\n1 2\n2 1\n0 2\n2 0\n";
        assert_eq!(
            edges(text).unwrap_err(),
            "f.topology: server 0 has 2 links: expected 1; where the servers are the ToRs, hosts_per_switch gives each of them hosts"
        );
        let (access, fabric) = (Rate::from_gbps(1), Rate::from_gbps(4));
        let given =
            Given { access: Some(access), fabric: Some(fabric), delay: Some(Span::ZERO), hosts_per_switch: Some(2) };
        let topology = read_edge_list(text, "f", true).unwrap().complete(given).unwrap();
        assert_eq!((topology.hosts, topology.nodes, topology.links.len()), (6, 9, 12 + 6));
        assert!(topology.check().is_ok());
        let of_host = |host: u32| topology.links.iter().find(|link| link.from == host).map(|link| (link.to, link.rate));
        assert_eq!((of_host(1), of_host(4)), (Some((6, access)), Some((8, access))));
        assert!(topology.links.iter().any(|link| (link.from, link.to, link.rate) == (6, 8, fabric)));
        let without = read_edge_list("|V|=2\n|E|=0\nServers=set(0)\n", "f", true).err().unwrap().to_string();
        assert_eq!(without, "f: has no ToRs below 2, which would get the hosts of hosts_per_switch");
    }

    fn edges(text: &str) -> Result<Topology, String> {
        let given = Given {
            access: Some(Rate::from_gbps(1)),
            fabric: Some(Rate::from_gbps(4)),
            delay: Some(Span::from_ns(20)),
            hosts_per_switch: None,
        };
        let graph = read_edge_list(text, "f.topology", false).map_err(|error| error.to_string())?;
        Ok(graph.complete(given).unwrap())
    }

    #[test]
    fn an_edge_list_keeps_its_order_and_gives_servers_the_access_rate() {
        let text = "# two below one\n|V|=4\n|E|=6\nToRs=incl_range(2,2)\nServers=incl_range(0, 1)\nSwitches=set(3)\n\n\
                    2 3\n3 2\n0 2\n2 0\n1 2\n2 1\n";
        let topology = edges(text).unwrap();
        let links: Vec<_> = topology.links.iter().map(|link| (link.from, link.to, link.rate.as_bps())).collect();
        assert_eq!((topology.hosts, topology.nodes), (2, 4));
        let (access, fabric) = (1_000_000_000, 4_000_000_000);
        let expected = [(2, 3, fabric), (3, 2, fabric), (0, 2, access), (2, 0, access), (1, 2, access), (2, 1, access)];
        assert_eq!(links, expected);
    }

    #[test]
    fn each_fault_of_an_edge_list_names_its_line() {
        let head = "|V|=3\n|E|=4\nServers=set(0,1)\n";
        let message = |text: &str| edges(text).unwrap_err();
        let of_edges = |text: &str| message(&format!("{head}{text}"));
        assert_eq!(of_edges("0 2\n"), "f.topology: has 1 edges, where |E| says 4");
        assert_eq!(of_edges("0 3\n"), "f.topology:4: 0 3: expected two different nodes below 3");
        assert_eq!(of_edges("0 x\n"), "f.topology:4: 0 x: expected two nodes, after |V|, |E| and Servers");
        assert_eq!(of_edges("0 2\n0 2\n"), "f.topology:5: 0 2: duplicate edge; parallel links are not supported");
        assert_eq!(of_edges("0 2\n2 0\n1 2\n1 0\n"), "f.topology: the edge 1 2 has no edge 2 1: links go both ways");
        assert_eq!(
            of_edges("0 2\n2 0\n0 1\n1 0\n"),
            "f.topology: server 0 has 2 links: expected 1; where the servers are the ToRs, hosts_per_switch gives each of them hosts"
        );
        assert_eq!(message("|E|=0\nServers=set(0)\n"), "f.topology: has no |V|");
        assert_eq!(message("|V|=2\nServers=set(0)\n"), "f.topology: has no |E|");
        assert_eq!(message("|V|=2\n|E|=0\n"), "f.topology: has no Servers");
        assert_eq!(message("|V|=x\n"), "f.topology:1: |V|=x: expected a number up to 16777216");
        assert_eq!(
            message("Servers=0..3\n"),
            "f.topology:1: Servers=0..3: expected incl_range(FIRST,LAST) or set(A,B,...)"
        );
        assert_eq!(
            message("Servers=set(1,2)\n"),
            "f.topology:1: Servers=set(1,2): expected servers to be numbered from 0, before all other nodes"
        );
        assert_eq!(
            message("AutoExtended=true\n"),
            "f.topology:1: unknown key AutoExtended: expected one of |V|, |E|, Servers, Switches, ToRs"
        );
    }
}
