//! The files that a scenario names. Each is hashed while it is read, so that the digest belongs to the content that was
//! read, even if the file changes.
//!
//! The manifest has the digest beside the key that names the file, under that key with the suffix `_sha256`.

use pifolab_workload::{FileError, OpenFile, Place, open_file};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::Path;

/// The suffix of the key of a digest.
const SUFFIX: &str = "_sha256";

/// A file that a scenario names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The key that names it, such as `workload.trace` or `workload.flows[1].list`.
    pub role: String,
    /// The file as written there.
    pub file: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// Reads the file at `path` with `parse`, which gets its content and its name for errors. Also returns the digest.
pub(crate) fn read_digested<T, E: From<FileError>>(
    path: &Path,
    parse: impl FnOnce(&mut Digested<'_>, &str) -> Result<T, E>,
) -> Result<(T, String), E> {
    read_unless(path, &|| false, parse)
}

/// As [`read_digested`]; reading fails once `stop`, which is called often, returns true.
pub(crate) fn read_unless<T, E: From<FileError>>(
    path: &Path,
    stop: &(dyn Fn() -> bool + Sync),
    parse: impl FnOnce(&mut Digested<'_>, &str) -> Result<T, E>,
) -> Result<(T, String), E> {
    let name = path.display().to_string();
    let file = open_file(path)?;
    let mut content = Digested { file, hasher: Sha256::new(), stop };
    let parsed = parse(&mut content, &name)?;
    // The digest includes content that the parser did not read; but not of a pipe, which might never end.
    if content.file.is_regular()
        && let Err(error) = io::copy(&mut content, &mut io::sink())
    {
        let problem = format!("cannot be read: {error}");
        return Err(FileError { file: name, place: Place::File, problem }.into());
    }
    let digest = content.hasher.finalize();
    Ok((parsed, digest.iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// A file that is hashed while it is read.
pub(crate) struct Digested<'a> {
    file: OpenFile,
    hasher: Sha256,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Read for Digested<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stop)() {
            return Err(io::Error::other("interrupted"));
        }
        let length = self.file.read(buffer)?;
        self.hasher.update(&buffer[..length]);
        Ok(length)
    }
}

/// Adds to `resolved` the digest of the file that the key `name` names.
pub(crate) fn note(resolved: &mut serde_json::Map<String, Json>, name: &str, sha256: String) {
    resolved.insert(digest_key(name), sha256.into());
}

/// The key for the digest of the file that the key `name` names.
pub(crate) fn digest_key(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

/// The files of a resolved specification, in the order of their roles.
pub(crate) fn inputs_of(resolved: &Json) -> Vec<Input> {
    let mut found = Vec::new();
    gather(resolved, "", &mut found);
    found.sort_by(|a, b| a.role.cmp(&b.role));
    found
}

fn gather(value: &Json, path: &str, found: &mut Vec<Input>) {
    match value {
        Json::Object(members) => {
            for (key, member) in members {
                let role = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                let named = key.strip_suffix(SUFFIX).and_then(|name| Some((name, members.get(name)?.as_str()?)));
                match (named, member.as_str()) {
                    (Some((name, file)), Some(sha256)) => {
                        found.push(Input { role: role(name), file: file.to_owned(), sha256: sha256.to_owned() });
                    }
                    _ => gather(member, &role(key), found),
                }
            }
        }
        Json::Array(members) => {
            for (number, member) in members.iter().enumerate() {
                gather(member, &format!("{path}[{number}]"), found);
            }
        }
        _ => {}
    }
}

/// The files of a specification in the form of the manifest.
pub(crate) fn listed(resolved: &Json) -> Json {
    let object = |Input { role, file, sha256 }| json!({ "role": role, "file": file, "sha256": sha256 });
    inputs_of(resolved).into_iter().map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_text;
    use crate::testing::Folder;

    const LINK: &str = r#"
        duration_s = 0.001
        link = { rate_gbps = 10 }
        scheduler = [{ name = "pifo" }]
        [[workload]]
        arrivals = "constant"
        rate_gbps = 1
        size_bytes = 1500
        ranks = { distribution = "histogram", file = "a.csv" }
        [[workload]]
        arrivals = "constant"
        rate_gbps = 2
        size_bytes = 1500
        ranks = { distribution = "histogram", file = "b.csv" }
    "#;

    #[test]
    fn a_digest_says_which_content_plays_which_role() {
        let folder = Folder::new();
        let (one, two) = ("rank,weight\n1,1\n", "rank,weight\n2,1\n");
        let read = |a: &str, b: &str| {
            folder.write("a.csv", a);
            folder.write("b.csv", b);
            let file = folder.0.join("x.toml").display().to_string();
            let spec = read_text(LINK, &file, &[], None, &()).unwrap();
            (spec.inputs(), spec.resolved().clone())
        };
        let (inputs, resolved) = read(one, two);
        let roles: Vec<_> = inputs.iter().map(|input| (input.role.as_str(), input.file.as_str())).collect();
        assert_eq!(roles, [("workload[0].ranks.file", "a.csv"), ("workload[1].ranks.file", "b.csv")]);
        // The output of sha256sum.
        assert_eq!(inputs[0].sha256, "29ad18ca8e38e96a6f7b9d43ef6f2fec63a019585dcdd4c2b6bff374b75433f5");
        let (swapped, other) = read(two, one);
        assert_eq!((&swapped[0].sha256, &swapped[1].sha256), (&inputs[1].sha256, &inputs[0].sha256));
        assert_ne!(resolved, other, "swapped contents are another specification");
    }

    #[cfg(unix)]
    #[test]
    fn a_named_pipe_is_refused_instead_of_waited_for() {
        let folder = Folder::new();
        let path = folder.0.join("pipe.toml");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = read_digested(&path, |_, _| Ok::<_, FileError>(())).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("pipe.toml: is a named pipe: expected a file, or a pipe of the shell as in <(zcat FILE)")
        );
    }

    #[test]
    fn a_file_that_shrinks_while_it_is_read_is_an_error() {
        let folder = Folder::new();
        for left in [0, 5, 4_999, 5_000] {
            let path = folder.write("x.csv", [b'1'; 5_000]);
            let parse = |content: &mut Digested<'_>, _: &str| {
                content.read_exact(&mut [0]).unwrap();
                std::fs::File::options().write(true).open(&path).unwrap().set_len(left).unwrap();
                Ok::<_, FileError>(())
            };
            let found = read_digested(&path, parse).map(|_| ()).map_err(|error| error.to_string());
            let read = left.max(1);
            let problem = format!(
                "{}: cannot be read: the file became shorter while it was read: {read} of 5000 bytes",
                path.display()
            );
            assert_eq!(found, if left == 5_000 { Ok(()) } else { Err(problem) });
        }
    }

    #[test]
    fn what_a_parser_leaves_is_part_of_the_digest() {
        let folder = Folder::new();
        let path = folder.write("x", "first and rest");
        let parse = |content: &mut Digested<'_>, _: &str| {
            let mut start = [0; 5];
            content.read_exact(&mut start).unwrap();
            Ok::<_, FileError>(start)
        };
        let (start, digest) = read_digested(&path, parse).unwrap();
        assert_eq!(
            (&start, digest),
            (b"first", "ecb49c12d0ea2ad9d13ddb071f1faa791adc02f276f5f119434da60be2335222".to_owned())
        );
    }
}
