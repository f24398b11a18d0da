//! What a P4 program is as a scheduler and as a switch: its file, its entries, and where it finds ranks.

use flate2::read::MultiGzDecoder;
use pifolab_bmv2::{Program, Switch};
use pifolab_sched::params::{Kind, Param, choices};
use std::fs::File;
use std::io::Read;

choices! {
    /// The position of the rank in a packet.
    pub enum RankIn {
        Payload = "payload": "a big-endian integer of eight bytes that begins the payload of UDP",
        Dscp = "dscp": "the DSCP; ranks above 63 are 63",
    }
}

pub(super) const PROGRAM: Param = Param::new("program", Kind::Text).doc(
    "The file that p4c wrote for BMv2 (architecture v1model), JSON or gzipped JSON. pifolab dataplane p4 compile writes one of \
     the library's parameters.",
);
pub(super) const ENTRIES: Param = Param::new("entries", Kind::Text)
    .means("no entries but those of the program")
    .doc("A file with entries of tables, registers and meters, one command of simple_switch_CLI per line.");
pub(super) const RANK: Param =
    Param::choice::<RankIn>("rank").or_word(RankIn::Payload.word()).doc("The position of the rank in a packet.");
pub(super) const MARKS: Param = Param::flag("ecn")
    .or_flag(false)
    .doc("Whether packets whose ECN field the program sets to 3 are marked. Needs the ECN codepoint of each packet.");

/// The program in a file, which sends no packet round again.
pub(super) fn load(file: &str) -> Result<Program, String> {
    let program = Program::load(&content(file)?).map_err(|error| error.to_string())?;
    if program.recirculates() {
        return Err("recirculate: expected a program that sends no packet round again".into());
    }
    Ok(program)
}

/// The text in a file.
pub(super) fn text(file: &str) -> Result<String, String> {
    String::from_utf8(content(file)?).map_err(|_| "expected text in UTF-8".into())
}

/// Refuses entries that copy packets.
pub(super) fn refuse_copies(switch: &Switch) -> Result<(), String> {
    if switch.makes_copies() {
        return Err("mirroring and multicast groups: expected no entry that copies packets".into());
    }
    Ok(())
}

/// The content of a file, decompressed if it starts like gzip.
fn content(file: &str) -> Result<Vec<u8>, String> {
    let said = |error: std::io::Error| format!("cannot be read: {error}");
    if !std::fs::metadata(file).map_err(said)?.is_file() {
        return Err("expected a file".into());
    }
    let mut bytes = Vec::new();
    File::open(file).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(said)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut text).map_err(said)?;
        return Ok(text);
    }
    Ok(bytes)
}
