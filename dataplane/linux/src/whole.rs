//! Files that are read and written as a whole: all of one, or the one before it.

use crate::{Error, Result};
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{self, Read, Write};
use std::path::Path;

/// The bytes of the longest text: a table of 65,536 flows has a tenth of this. A device has no end.
const LONGEST_TEXT: u64 = 100 << 20;

/// Reads a text.
///
/// # Errors
/// It cannot be read, is not UTF-8, or has more than 100 MiB.
pub fn read_whole(path: &Path) -> Result<String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_TEXT + 1).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes as u64 > LONGEST_TEXT => Err("it has more than 100 MiB".to_owned()),
        Ok(_) => Ok(text),
        Err(error) => Err(error.to_string()),
    }
    .map_err(|error| Error::Usage(format!("{}: cannot be read: {error}", path.display())))
}

/// Writes `text` to a new file beside `path`, which then takes its place.
///
/// Nobody foresees the new file's name, and it was not there before: no link is followed, and no file of others changes.
///
/// # Errors
/// If the file cannot be written; nothing of it remains.
pub fn write_whole(path: &Path, text: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    // The keys of a hash map are random.
    let tag = std::hash::RandomState::new().hash_one(std::process::id());
    let fresh = path.with_file_name(format!(".{name}.partial-{tag:016x}"));
    let written =
        File::create_new(&fresh).and_then(|mut file| file.write_all(text)).and_then(|()| fs::rename(&fresh, path));
    if let Err(error) = &written
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        let _ = fs::remove_file(&fresh);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn whatever_lies_where_a_file_is_written_nothing_outside_changes() {
        let scratch = std::env::temp_dir().join(format!("pifolab-whole-{}", std::process::id()));
        let (victim, folder) = (scratch.join("victim"), scratch.join("out"));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(&victim, "theirs").expect("a file");
        let path = folder.join("a.json");
        // Under the name itself, and under those of earlier versions.
        for name in ["a.json", ".a.json.tmp", "a.tmp"] {
            symlink(&victim, folder.join(name)).expect("a link");
        }
        write_whole(&path, b"ours").expect("the link is replaced");
        write_whole(&path, b"again").expect("the file is replaced");
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "theirs");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "again");
        assert!(!fs::symlink_metadata(&path).expect("it is there").is_symlink());
        fs::create_dir(folder.join("b.json")).expect("a folder");
        write_whole(&folder.join("b.json"), b"ours").expect_err("a folder is not replaced");
        let names =
            fs::read_dir(&folder).expect("it is there").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        assert_eq!(names.filter(|name| name.contains("partial")).count(), 0);
        fs::remove_dir_all(&scratch).expect("it is ours");
    }
}
