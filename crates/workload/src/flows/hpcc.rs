//! Flow lists in the format of the HPCC simulator. The first line is the number of flows. Each further line is a flow:
//! source, destination, priority group, destination port, size in bytes and start in seconds, separated by blanks.
//!
//! Flow ids count lines from 0, in order of start. Priority group and port have no meaning here. The reader ignores
//! them, and the writer sets them to 3 and 100 like the format's own generator. Hosts have the numbers of the nodes in the
//! simulator's topology, where switches may come first.

use super::{Flow, list};
use crate::FileError;
use crate::input::{Input, Lines, from_reader, quoted};
use std::io::{self, Read, Write};

/// Reads a flow list from `content` (gzip allowed); errors name it `file`. `hosts`, if given, is the number of hosts; `ids`
/// are their numbers in the list, ascending, and empty if those count from 0.
/// Like the simulator, this function reads as many flows as the first line counts. It also returns the number of
/// further lines with text.
///
/// # Errors
/// If it cannot be read, has fewer flows than the first line counts, or a line is not a flow (see
/// [`flows_from`](super::flows_from)). The error contains file, line and value.
pub fn hpcc_flows_from(
    content: impl Read + Send,
    file: &str,
    hosts: Option<u32>,
    ids: &[u32],
) -> Result<(Vec<Flow>, u64), FileError> {
    read(from_reader(content, file)?, hosts, ids)
}

/// Writes `flows` in this format, with starts exact to the picosecond and the numbers `ids` of hosts, as in
/// [`hpcc_flows_from`]. Ids of flows are lost, because the format has none.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_hpcc_flows(flows: &[Flow], ids: &[u32], out: &mut impl Write) -> io::Result<()> {
    const PS_PER_S: u64 = 1_000_000_000_000;
    let number = |host: u32| ids.get(host as usize).copied().unwrap_or(host);
    writeln!(out, "{}", flows.len())?;
    for Flow { src, dst, bytes, start, .. } in flows {
        let (seconds, ps) = (start.as_ps() / PS_PER_S, start.as_ps() % PS_PER_S);
        let (src, dst) = (number(*src), number(*dst));
        writeln!(out, "{src} {dst} 3 100 {bytes} {seconds}.{ps:012}")?;
    }
    Ok(())
}

fn read(input: Input<'_>, hosts: Option<u32>, ids: &[u32]) -> Result<(Vec<Flow>, u64), FileError> {
    let mut lines = Lines::new(input);
    let first = lines.next()?.unwrap_or_default();
    let Ok(count) = first.parse::<u64>() else {
        let problem = format!("{}: expected the number of flows", quoted(first));
        return Err(lines.error(problem));
    };
    let (mut flows, mut unread): (Vec<Flow>, u64) = (Vec::new(), 0);
    while let Some(line) = lines.next()? {
        if line.is_empty() {
            continue;
        }
        if flows.len() as u64 == count {
            unread += 1;
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[src, dst, _, _, size, start] = fields.as_slice() else {
            let problem = format!("{}: expected source, destination, group, port, size and start", quoted(line));
            return Err(lines.error(problem));
        };
        let id = flows.len().to_string();
        let below = ids.last().map_or(hosts, |last| Some(last + 1));
        let mut flow = list::parse([&id, src, dst, size, start], below, ("start", 12))
            .map_err(|(column, problem)| lines.column_error(column, problem))?;
        for (column, host) in [("src", &mut flow.src), ("dst", &mut flow.dst)] {
            if !ids.is_empty() {
                let number = ids.binary_search(host).map_err(|_| {
                    lines.column_error(column, format!("{host}: expected a host: this node is a switch of the network"))
                })?;
                *host = number as u32;
            }
        }
        if flows.last().is_some_and(|before| before.start > flow.start) {
            return Err(lines.column_error("start", "before that of the previous row: expected rows in order of start"));
        }
        flows.push(flow);
    }
    if flows.len() as u64 != count {
        return Err(lines.file_error(format!("{} flows, where the first line says {count}", flows.len())));
    }
    Ok((flows, unread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_units::Time;

    #[test]
    fn what_is_written_is_read_back() {
        let flows = [
            Flow { id: 0, src: 3, dst: 1, bytes: 1, start: Time::ZERO },
            Flow { id: 1, src: 1, dst: 0, bytes: 5_000, start: Time::from_ps(2_000_000_000_007) },
        ];
        let mut text = Vec::new();
        write_hpcc_flows(&flows, &[], &mut text).unwrap();
        assert_eq!(text, b"2\n3 1 3 100 1 0.000000000000\n1 0 3 100 5000 2.000000000007\n");
        assert_eq!(hpcc_flows_from(&text[..], "f", Some(4), &[]).unwrap(), (flows.to_vec(), 0));
    }

    #[test]
    fn hosts_have_the_numbers_of_the_topology() {
        let text = "2\n7 2 3 100 1 0.000000000000\n4 7 3 100 5000 2.000000000007\n";
        let (flows, _) = hpcc_flows_from(text.as_bytes(), "f", Some(3), &[2, 4, 7]).unwrap();
        assert_eq!(flows.iter().map(|flow| (flow.src, flow.dst)).collect::<Vec<_>>(), [(2, 0), (1, 2)]);
        let mut again = Vec::new();
        write_hpcc_flows(&flows, &[2, 4, 7], &mut again).unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), text);
        let message = |text: &str| hpcc_flows_from(text.as_bytes(), "f", Some(3), &[2, 4, 7]).unwrap_err().to_string();
        assert_eq!(message("1\n2 3 3 1 1 0\n"), "f:2: dst: 3: expected a host: this node is a switch of the network");
        assert_eq!(message("1\n8 2 3 1 1 0\n"), "f:2: src: host 8: expected a host below 8");
    }

    #[test]
    fn flows_beyond_the_first_lines_count_and_what_is_written_there_are_not_read() {
        let text = "2\n0 1 3 100 5000 2\n1 2 3 100 6e3 2\n2 0 3 100 7000 2\n\nFirst line: # of flows\n";
        let (flows, unread) = hpcc_flows_from(text.as_bytes(), "f", Some(3), &[]).unwrap();
        assert_eq!((flows.len(), flows[1].bytes, unread), (2, 6000, 2));
    }

    #[test]
    fn each_fault_names_its_line() {
        let message = |text: &str| hpcc_flows_from(text.as_bytes(), "f", Some(9), &[]).unwrap_err().to_string();
        assert_eq!(message(""), "f:1: \"\": expected the number of flows");
        assert_eq!(message("x\n"), "f:1: \"x\": expected the number of flows");
        assert_eq!(message("2\n0 1 3 100 5 0\n"), "f: 1 flows, where the first line says 2");
        assert_eq!(
            message("1\n0 1 3 100 5\n"),
            "f:2: \"0 1 3 100 5\": expected source, destination, group, port, size and start"
        );
        assert_eq!(message("1\n1 1 3 100 5 0\n"), "f:2: dst: 1 is also the source: expected two different hosts");
        assert_eq!(message("1\n0 9 3 100 5 0\n"), "f:2: dst: host 9: expected a host below 9");
        assert_eq!(message("1\n0 1 3 100 5 -2\n"), "f:2: start: \"-2\": expected a time from 0 to 213 days");
        assert_eq!(
            message("2\n0 1 3 100 5 2\n0 1 3 100 5 1\n"),
            "f:3: start: before that of the previous row: expected rows in order of start"
        );
    }
}
