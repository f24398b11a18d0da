//! Which word was meant.

use alloc::vec::Vec;

/// The candidate within two edits of `word` (or a third of its length), if there is one: for "did you mean".
pub fn closest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(2);
    candidates
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
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
