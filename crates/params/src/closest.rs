//! Which word was meant.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// What people call something by another name than pifolab does.
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

/// The candidate that `word` may have meant, if there is one: for "did you mean". The same word in other letters comes before
/// one that begins with it (the shortest of them), that before another name for a candidate, and that before a candidate within
/// two edits (or a third of the word's length). One letter means nothing.
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
    let letters = |text: &str| text.trim_start_matches('-').chars().count();
    if letters(word) < 2 {
        return None;
    }
    if let Some(same) = candidates.iter().find(|candidate| edit_distance(word, candidate) == 0) {
        return Some(same);
    }
    let begun = candidates.iter().filter(|candidate| candidate.starts_with(word));
    if let Some(longer) = begun.min_by_key(|candidate| candidate.len()) {
        return Some(longer);
    }
    let other = ALIASES.iter().filter(|(alias, _)| edit_distance(word, alias) == 0).map(|(_, name)| *name);
    if let Some(known) = other.filter_map(|name| candidates.iter().find(|candidate| **candidate == name)).next() {
        return Some(known);
    }
    let limit = (word.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// From so many names on a message no longer has all of them.
const MANY: usize = 16;

/// Which of `names` may have been meant by `word`, for the end of a message: the closest one; if none is close all of them,
/// after the words `all`; or, where these are many, up to three that have the word in them, and which command prints them all.
///
/// ```
/// use pifolab_params::meant;
///
/// let names = || ["fifo", "pifo"].into_iter();
/// assert_eq!(meant("pifoo", names, "there are", None), "did you mean pifo?");
/// assert_eq!(meant("wrong", names, "there are", None), "there are fifo, pifo");
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
    if let Some(name) = closest(word, names()) {
        return format!("did you mean {name}?");
    }
    let count = names().count();
    let Some(command) = listed_by.filter(|_| count >= MANY) else {
        return format!("{all} {}", names().collect::<Vec<_>>().join(", "));
    };
    let mut alike: Vec<&str> = names().filter(|name| word.len() > 1 && name.contains(word)).take(3).collect();
    let command = format!("{command} prints all {count}");
    match alike.pop() {
        None => command,
        Some(last) if alike.is_empty() => format!("did you mean {last}? {command}"),
        Some(last) => format!("did you mean {} or {last}? {command}", alike.join(", ")),
    }
}

/// Levenshtein distance, with `-` and `_` equal, since both stand in names.
fn edit_distance(a: &str, b: &str) -> usize {
    let fold = |c: char| if c == '_' { '-' } else { c.to_ascii_lowercase() };
    let b: Vec<char> = b.chars().map(fold).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().map(fold).enumerate() {
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
