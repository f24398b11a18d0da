//! Flow lists as connection matrices of htsim: the numbers of nodes and connections, then one connection per line, such
//! as `0->5 id 1 start 2000000 size 150000`, with the start in picoseconds and the size in bytes.
//!
//! A flow that a trigger starts at the end of another flow is an error, because its start is unknown. Connections may
//! be in any order. Priorities are ignored.

use super::{Flow, list};
use crate::FileError;
use crate::input::{Input, Lines, from_reader, quoted, whole};
use std::io::Read;

/// Reads a connection matrix from `content` (gzip allowed); errors name it `file`. `hosts`, if given, is the number of
/// hosts. Returns the flows in order of start.
///
/// # Errors
/// If it cannot be read, the number of connections differs from the stated one, or a line is not a flow (see
/// [`flows_from`](super::flows_from)). The error contains file, line and value.
pub fn htsim_flows_from(content: impl Read + Send, file: &str, hosts: Option<u32>) -> Result<Vec<Flow>, FileError> {
    read(from_reader(content, file)?, hosts)
}

fn read(input: Input<'_>, hosts: Option<u32>) -> Result<Vec<Flow>, FileError> {
    let mut lines = Lines::new(input);
    let mut stated = None;
    let mut flows: Vec<Flow> = Vec::new();
    while let Some(line) = lines.next()? {
        let line = line.to_owned();
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((&first, rest)) = words.split_first() else { continue };
        match first {
            comment if comment.starts_with('#') => {}
            "Nodes" | "Connections" | "Triggers" | "Failures" => {
                let number = rest.first().and_then(|number| whole(number));
                let number = number.ok_or_else(|| lines.error(format!("{}: expected a number", quoted(&line))))?;
                match first {
                    "Connections" => stated = Some(number),
                    "Triggers" | "Failures" if number > 0 => {
                        return Err(lines.error(format!("{}: expected none: neither is simulated", quoted(&line))));
                    }
                    _ => {}
                }
            }
            ends => {
                let Some((src, dst)) = ends.split_once("->") else {
                    return Err(lines.error(format!("{}: expected a connection such as 0->5", quoted(ends))));
                };
                let next = flows.len().to_string();
                let (mut id, mut start, mut size) = (next.as_str(), None, None);
                for pair in rest.chunks(2) {
                    match pair {
                        ["id", value] => id = value,
                        ["start", value] => start = Some(*value),
                        ["size", value] => size = Some(*value),
                        ["prio", _] => {}
                        [key, ..] if key.ends_with("trigger") => {
                            let problem = format!("{}: expected a start: triggers are not simulated", quoted(key));
                            return Err(lines.error(problem));
                        }
                        _ => {
                            let problem =
                                format!("{}: expected id, start, size or prio with a number", quoted(pair[0]));
                            return Err(lines.error(problem));
                        }
                    }
                }
                let missing = |key: &str| lines.error(format!("{}: has no {key}", quoted(&line)));
                let (start, size) = (start.ok_or_else(|| missing("start"))?, size.ok_or_else(|| missing("size"))?);
                if whole(size) == Some(0) {
                    let problem = "0: expected at least 1 byte (for htsim a flow of size 0 never ends)";
                    return Err(lines.column_error("size", problem));
                }
                let flow = list::parse([id, src, dst, size, start], hosts, ("start", 0))
                    .map_err(|(column, problem)| lines.column_error(column, problem))?;
                flows.push(flow);
            }
        }
    }
    if stated != Some(flows.len() as u64) {
        let said = stated.map_or("no line says how many".to_owned(), |stated| format!("Connections says {stated}"));
        return Err(lines.file_error(format!("{} connections, where {said}", flows.len())));
    }
    flows.sort_by_key(|flow| flow.start);
    let mut ids: Vec<u64> = flows.iter().map(|flow| flow.id).collect();
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(lines.file_error(format!(
            "duplicate id {}: ids must be unique, given for all connections or for none",
            pair[0]
        )));
    }
    Ok(flows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_matrix_is_read_in_order_of_start() {
        let text = "Nodes 6\nConnections 3\n# a comment\n0->5 id 1 start 2000000 size 150000\n4->1 id 2 start 0 size 2e6 prio 3\n2->3 id 9 start 1.5e3 size 1\n";
        let flows = htsim_flows_from(text.as_bytes(), "f", Some(6)).unwrap();
        let found: Vec<_> = flows.iter().map(|f| (f.id, f.src, f.dst, f.bytes, f.start.as_ps())).collect();
        assert_eq!(found, [(2, 4, 1, 2_000_000, 0), (9, 2, 3, 1, 1_500), (1, 0, 5, 150_000, 2_000_000)]);
        let without_ids = "Nodes 6\nConnections 2\n0->5 start 0 size 5\n1->5 start 0 size 5\n";
        let flows = htsim_flows_from(without_ids.as_bytes(), "f", None).unwrap();
        assert_eq!(flows.iter().map(|flow| flow.id).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn each_fault_names_its_line() {
        let message = |text: &str| htsim_flows_from(text.as_bytes(), "f", Some(9)).unwrap_err().to_string();
        let one = |line: &str| message(&format!("Nodes 9\nConnections 1\n{line}\n"));
        assert_eq!(message("0->1 start 0 size 5\n"), "f: 1 connections, where no line says how many");
        assert_eq!(message("Connections 2\n0->1 start 0 size 5\n"), "f: 1 connections, where Connections says 2");
        assert_eq!(message("Connections x\n"), "f:1: \"Connections x\": expected a number");
        assert_eq!(message("Triggers 1\n"), "f:1: \"Triggers 1\": expected none: neither is simulated");
        assert_eq!(one("0-1 start 0 size 5"), "f:3: \"0-1\": expected a connection such as 0->5");
        assert_eq!(one("0->1 size 5"), "f:3: \"0->1 size 5\": has no start");
        assert_eq!(one("0->1 start 5"), "f:3: \"0->1 start 5\": has no size");
        assert_eq!(one("0->1 id 3 trigger 2 size 5"), "f:3: \"trigger\": expected a start: triggers are not simulated");
        assert_eq!(one("0->1 begin 5"), "f:3: \"begin\": expected id, start, size or prio with a number");
        assert_eq!(one("0->1 start 0 size"), "f:3: \"size\": expected id, start, size or prio with a number");
        assert_eq!(
            one("0->1 start 0 size 0"),
            "f:3: size: 0: expected at least 1 byte (for htsim a flow of size 0 never ends)"
        );
        assert_eq!(one("0->9 start 0 size 5"), "f:3: dst: host 9: expected a host below 9");
        let twice = "Connections 2\n0->1 id 1 start 0 size 5\n0->2 start 0 size 5\n";
        assert_eq!(message(twice), "f: duplicate id 1: ids must be unique, given for all connections or for none");
    }
}
