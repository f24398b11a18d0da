//! Suggests the intended word for a mistyped one.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Common names of things that have another name in pifolab.
const ALIASES: &[(&str, &str)] = &[
    ("tcp", "newreno"),
    ("reno", "newreno"),
    ("droptail", "fifo"),
    ("tail-drop", "fifo"),
    ("sp", "strict-priority"),
    ("priority", "strict-priority"),
    ("wfq", "stfq"),
    ("srpt", "unacknowledged"),
    ("fct", "fct_ns"),
    ("--output", "--out"),
    ("--scheduler", "--schedulers"),
    ("--silent", "--quiet"),
    ("--link-rate", "--rate"),
    ("--time", "--duration"),
];

/// The candidate that `word` most likely means, for "did you mean". The order of preference: the same word in other
/// case, the shortest candidate that begins with the word, another name of a candidate (alias), and the closest
/// candidate within two edits (or a third of the word's length). One letter matches nothing.
///
/// ```
/// use pifolab_params::closest;
///
/// let among = |word, names: &'static str| closest(word, names.split(' '));
/// assert_eq!(among("PACKS", "packs-wide packs"), Some("packs"));
/// assert_eq!(among("--rat", "--trace --rate-list --rate"), Some("--rate"));
/// assert_eq!(among("tcp", "udp dctcp newreno"), Some("newreno"));
/// assert_eq!(among("-o", "-h --out"), None);
/// ```
pub fn closest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<_> = candidates.collect();
    known(word, &candidates).or_else(|| nearest(word, &candidates))
}

/// Whether the word is long enough for a suggestion.
fn is_long(word: &str) -> bool {
    word.trim_start_matches('-').chars().nth(1).is_some()
}

fn known<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    if !is_long(word) {
        return None;
    }
    let same = candidates.iter().find(|candidate| letters_of(word).eq(letters_of(candidate)));
    let begun = || candidates.iter().filter(|candidate| candidate.starts_with(word)).min_by_key(|name| name.len());
    let other = || {
        let names = ALIASES.iter().filter(|(alias, _)| letters_of(word).eq(letters_of(alias))).map(|(_, name)| *name);
        names.filter_map(|name| candidates.iter().find(|candidate| **candidate == name)).next()
    };
    same.or_else(begun).or_else(other).copied()
}

fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let length = word.chars().count();
    let limit = (length / 3).max(2);
    // The distance is at least the difference of the lengths, so a word of megabytes is not compared.
    let alike = candidates.iter().filter(|candidate| candidate.chars().count() + limit >= length);
    let distances = alike.map(|candidate| (edit_distance(word, candidate), *candidate));
    let near = distances.filter(|(distance, _)| is_long(word) && *distance <= limit);
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// From this number of names on, a message does not list all of them.
const MANY: usize = 16;

/// The end of a message with those of `names` that `word` may mean. The first of these that exists: the known name (see
/// [`closest`]); up to three names with the word between dots, dashes and slashes; the closest name; all names after
/// the words `all`. For many names the last is replaced by up to three names that contain the word, and by the command
/// that prints all.
///
/// ```
/// use pifolab_params::meant;
///
/// let names = || ["fifo", "pifo"].into_iter();
/// assert_eq!(meant("pifoo", names, "there are", None), "did you mean pifo?");
/// assert_eq!(meant("wrong", names, "there are", None), "there are fifo, pifo");
/// let keys = || ["edf", "port.ecn_threshold_bytes"].into_iter();
/// assert_eq!(meant("ecn", keys, "there are", None), "did you mean port.ecn_threshold_bytes?");
/// let many = || "a b c d e f g h i j k l m n long-name longer-name".split(' ');
/// assert_eq!(meant("wrong", many, "there are", Some("pifolab show")), "pifolab show prints all 16");
/// let said = meant("name", many, "there are", Some("pifolab show"));
/// assert_eq!(said, "did you mean long-name or longer-name? pifolab show prints all 16");
/// ```
pub fn meant<'a, I: Iterator<Item = &'a str>>(
    word: &str,
    names: impl Fn() -> I,
    all: &str,
    listed_by: Option<&str>,
) -> String {
    let candidates: Vec<_> = names().collect();
    let one = |name: &str| format!("did you mean {name}?");
    if let Some(name) = known(word, &candidates) {
        return one(name);
    }
    let printed = listed_by.filter(|_| candidates.len() >= MANY);
    let printed = printed.map(|command| format!("{command} prints all {}", candidates.len()));
    let several = |has: &dyn Fn(&str) -> bool| {
        let mut alike: Vec<&str> =
            candidates.iter().copied().filter(|name| is_long(word) && has(name)).take(3).collect();
        let last = alike.pop()?;
        let said = if alike.is_empty() { one(last) } else { one(&format!("{} or {last}", alike.join(", "))) };
        Some(printed.as_ref().map_or(said.clone(), |command| format!("{said} {command}")))
    };
    let has_part = |name: &str| name.split(['.', '_', '-', '/']).any(|part| part == word);
    if let Some(said) = several(&has_part) {
        return said;
    }
    if let Some(name) = nearest(word, &candidates) {
        return one(name);
    }
    match &printed {
        None => format!("{all} {}", candidates.join(", ")),
        Some(command) => several(&|name| name.contains(word)).unwrap_or_else(|| command.clone()),
    }
}

/// The letters of a name in lower case, with `_` as `-`, because names contain both.
fn letters_of(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() })
}

/// Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = letters_of(b).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in letters_of(a).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_meant_by_a_word_that_is_far_longer() {
        let long = "k".repeat(10_000_000);
        assert_eq!(closest(&long, ["k", "kk"].into_iter()), None);
        assert_eq!(closest("kkkkk", ["kkk"].into_iter()), Some("kkk"));
        assert_eq!(closest("tail-drop", ["fifo"].into_iter()), Some("fifo"));
    }
}
