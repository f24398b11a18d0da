//! Flow lists as CSV: `flow,src,dst,size_bytes,start_ns`, in any order of columns. Further columns are ignored.
//!
//! `flow` is the flow's unique id. Rows are in order of `start_ns`, which is rounded to the picosecond. Numbers may
//! have the formats of Python, pandas and R (`1e-05`, `1500.0`). Quotes are not supported, because no column needs
//! them.

use super::{Flow, MAX_FLOW_BYTES};
use crate::FileError;
use crate::input::{Input, Lines, from_reader, picoseconds, quoted, whole};
use pifolab_units::Time;
use std::collections::HashSet;
use std::io::{self, Read, Write};

const COLUMNS: [&str; 5] = ["flow", "src", "dst", "size_bytes", "start_ns"];

/// Reads a flow list from `content` (gzip allowed); errors name it `file`. `hosts`, if given, is the number of hosts.
///
/// ```
/// use pifolab_workload::flows::flows_from;
/// let text = "flow,src,dst,size_bytes,start_ns,note\n0,3,5,1500,20.5,first\n";
/// let flows = flows_from(text.as_bytes(), "flows.csv", None).unwrap();
/// assert_eq!(flows[0].start.as_ps(), 20_500);
/// ```
///
/// # Errors
/// If it cannot be read, a column is missing, or a row is not a flow: a flow to itself, a host that does not exist, a
/// size of 0 or above 2^63 - 1, a negative or decreasing start, an id above 2^63 - 1 or a duplicate id. The error
/// contains file, line, column and value.
pub fn flows_from(content: impl Read + Send, file: &str, hosts: Option<u32>) -> Result<Vec<Flow>, FileError> {
    read(from_reader(content, file)?, hosts)
}

/// Writes `flows` in the format that [`flows_from`] reads, without loss.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_flows(flows: &[Flow], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", COLUMNS.join(","))?;
    for Flow { id, src, dst, bytes, start } in flows {
        write!(out, "{id},{src},{dst},{bytes},{}", start.as_ns())?;
        match start.as_ps() % 1000 {
            0 => writeln!(out)?,
            ps => writeln!(out, ".{ps:03}")?,
        }
    }
    Ok(())
}

fn read(input: Input<'_>, hosts: Option<u32>) -> Result<Vec<Flow>, FileError> {
    let mut lines = Lines::new(input);
    let Some(header) = lines.next()? else {
        return Err(lines.file_error(format!("empty: expected the header {}", COLUMNS.join(","))));
    };
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let width = names.len();
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        match names.iter().position(|name| *name == column) {
            Some(at) => *place = at,
            None => {
                let problem = format!("column {column} is missing in the header {}", quoted(header));
                return Err(lines.error(problem));
            }
        }
    }
    let mut flows: Vec<Flow> = Vec::new();
    let mut ids = HashSet::new();
    let mut fields: [String; COLUMNS.len()] = Default::default();
    while let Some(line) = lines.next()? {
        if line.is_empty() {
            continue;
        }
        let mut found = 0;
        for (at, text) in line.split(',').enumerate() {
            found += 1;
            for (field, _) in fields.iter_mut().zip(places).filter(|(_, place)| *place == at) {
                text.trim().clone_into(field);
            }
        }
        if found != width {
            return Err(lines.error(format!("{found} fields where the header has {width}")));
        }
        let flow = parse(fields.each_ref().map(String::as_str), hosts, ("start_ns", 3))
            .map_err(|(column, problem)| lines.column_error(column, problem))?;
        if let Some(before) = flows.last().filter(|before| before.start > flow.start) {
            let problem = format!(
                "{} is before the {} ns of the previous row: expected rows in order of start",
                fields[4],
                before.start.as_ps() as f64 / 1000.0
            );
            return Err(lines.column_error("start_ns", problem));
        }
        if !ids.insert(flow.id) {
            return Err(lines.column_error("flow", format!("duplicate id {}: ids must be unique", flow.id)));
        }
        flows.push(flow);
    }
    Ok(flows)
}

/// Parses the fields of one row (in the order of [`COLUMNS`]). Returns the flow, or the invalid column and its problem.
/// `start_column` is the start's column, in units of 10^power ps.
pub(super) fn parse(
    fields: [&str; COLUMNS.len()],
    hosts: Option<u32>,
    (start_column, power): (&'static str, u32),
) -> Result<Flow, (&'static str, String)> {
    let [id, src, dst, size, start] = fields;
    let host = |column, text: &str| {
        let host = whole(text).and_then(|host| u32::try_from(host).ok());
        let host = host.ok_or_else(|| (column, format!("{}: expected a host number", quoted(text))))?;
        match hosts {
            Some(hosts) if host >= hosts => Err((column, format!("host {host}: expected a host below {hosts}"))),
            _ => Ok(host),
        }
    };
    // The largest id that the columns of result tables can hold.
    let id = whole(id)
        .filter(|id| *id <= i64::MAX as u64)
        .ok_or_else(|| ("flow", format!("{}: expected an integer from 0 to 2^63 - 1", quoted(id))))?;
    let (src, dst) = (host("src", src)?, host("dst", dst)?);
    if src == dst {
        return Err(("dst", format!("{dst} is also the source: expected two different hosts")));
    }
    let bytes = whole(size).filter(|bytes| (1..=MAX_FLOW_BYTES).contains(bytes));
    let bytes = bytes.ok_or_else(|| ("size_bytes", format!("{}: expected 1 to 2^63 - 1 bytes", quoted(size))))?;
    let start = picoseconds(start, power)
        .and_then(|(ps, _)| u64::try_from(ps).ok())
        .map(Time::from_ps)
        .ok_or_else(|| (start_column, format!("{}: expected a time from 0 to 213 days", quoted(start))))?;
    Ok(Flow { id, src, dst, bytes, start })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "flow,src,dst,size_bytes,start_ns\n";

    fn message(rows: &str) -> String {
        flows_from(format!("{HEADER}{rows}").as_bytes(), "f.csv", Some(10)).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let flows = [
            Flow { id: 7, src: 0, dst: 1, bytes: 1, start: Time::ZERO },
            Flow { id: i64::MAX as u64, src: 1, dst: 0, bytes: MAX_FLOW_BYTES, start: Time::from_ps(1_007) },
            Flow { id: 2, src: 1, dst: 9, bytes: 1500, start: Time::MAX },
        ];
        let mut text = Vec::new();
        write_flows(&flows, &mut text).unwrap();
        assert_eq!(flows_from(&text[..], "f", Some(10)).unwrap(), flows);
        assert_eq!(
            String::from_utf8(text).unwrap().lines().nth(2),
            Some("9223372036854775807,1,0,9223372036854775807,1.007")
        );
    }

    #[test]
    fn columns_may_stand_anywhere_and_others_are_ignored() {
        let text = "fct_ns, start_ns,size_bytes ,dst,src,flow\n,5,100,2,1,0\n\nx,5.0000001,1e+02,1.0,2,1\n";
        let flows = flows_from(text.as_bytes(), "f", None).unwrap();
        assert_eq!(flows[0], Flow { id: 0, src: 1, dst: 2, bytes: 100, start: Time::from_ns(5) });
        assert_eq!(flows.len(), 2);
    }

    #[test]
    fn each_fault_names_line_column_and_value() {
        assert_eq!(
            message("0,1,2,5,0\n1,3,3,5,0\n"),
            "f.csv:3: dst: 3 is also the source: expected two different hosts"
        );
        assert_eq!(message("0,1,2,5,-1\n"), "f.csv:2: start_ns: \"-1\": expected a time from 0 to 213 days");
        assert_eq!(message("0,1,2,0,0\n"), "f.csv:2: size_bytes: \"0\": expected 1 to 2^63 - 1 bytes");
        assert_eq!(
            message("0,1,2,9223372036854775808,0\n"),
            "f.csv:2: size_bytes: \"9223372036854775808\": expected 1 to 2^63 - 1 bytes"
        );
        assert_eq!(message("0,1,2,5,0\n0,1,2,5,0\n"), "f.csv:3: flow: duplicate id 0: ids must be unique");
        assert_eq!(
            message("0,1,2,5,9\n1,1,2,5,8\n"),
            "f.csv:3: start_ns: 8 is before the 9 ns of the previous row: expected rows in order of start"
        );
        assert_eq!(message("0,1,10,5,0\n"), "f.csv:2: dst: host 10: expected a host below 10");
        assert_eq!(message("0,x,1,5,0\n"), "f.csv:2: src: \"x\": expected a host number");
        assert_eq!(message("-1,0,1,5,0\n"), "f.csv:2: flow: \"-1\": expected an integer from 0 to 2^63 - 1");
        assert_eq!(
            message("9223372036854775808,0,1,5,0\n"),
            "f.csv:2: flow: \"9223372036854775808\": expected an integer from 0 to 2^63 - 1"
        );
        assert_eq!(message("0,1,2,5\n"), "f.csv:2: 4 fields where the header has 5");
        let headerless = flows_from(&b"0,1,2,5,0\n"[..], "f", None).unwrap_err().to_string();
        assert_eq!(headerless, "f:1: column flow is missing in the header \"0,1,2,5,0\"");
        let empty = flows_from(&b""[..], "f", None).unwrap_err().to_string();
        assert_eq!(empty, "f: empty: expected the header flow,src,dst,size_bytes,start_ns");
    }
}
