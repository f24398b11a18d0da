//! A column of mostly repeated texts: each text is stored once, and a row stores its index.

use std::collections::HashMap;

/// A column of texts, stored as indices into the distinct texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The distinct texts, in order of first appearance.
    names: Vec<String>,
    /// The index in `names` of each row's text.
    codes: Vec<u32>,
}

impl Texts {
    /// Creates a column of `rows` rows that all hold `text`.
    #[must_use]
    pub fn repeated(text: &str, rows: usize) -> Self {
        let names = if rows == 0 { Vec::new() } else { vec![text.to_owned()] };
        Self { names, codes: vec![0; rows] }
    }

    /// The distinct texts, in order of first appearance.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The index in [`names`](Self::names) of each row's text.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The text of each row.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.codes.iter().map(|code| self.names[*code as usize].as_str())
    }

    /// Adds the rows of `other`.
    pub(crate) fn append(&mut self, other: Self) {
        if other.codes.is_empty() {
            return;
        }
        let mut known: HashMap<&str, u32> = self.names.iter().map(String::as_str).zip(0..).collect();
        let mut new = 0..;
        let first = code(self.names.len());
        let codes: Vec<u32> = other
            .names
            .iter()
            .map(|name| *known.entry(name).or_insert_with(|| first + new.next().expect("it never ends")))
            .collect();
        drop(known);
        self.names
            .extend(other.names.into_iter().zip(&codes).filter(|(_, code)| **code >= first).map(|(name, _)| name));
        self.codes.extend(other.codes.iter().map(|other| codes[*other as usize]));
    }
}

impl<'a> FromIterator<&'a str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'a str>>(rows: I) -> Self {
        let mut known = HashMap::<&str, u32>::new();
        // Most columns repeat a few texts at the same addresses. A comparison of addresses then replaces a hash.
        let mut first = Vec::<(&str, u32)>::with_capacity(FIRST);
        let mut texts = Self::default();
        for row in rows {
            let found = first.iter().find(|(text, _)| std::ptr::eq(*text, row)).map(|(_, code)| *code);
            let found = found.unwrap_or_else(|| {
                let found = *known.entry(row).or_insert_with(|| {
                    texts.names.push(row.to_owned());
                    code(texts.names.len() - 1)
                });
                if first.len() < FIRST {
                    first.push((row, found));
                }
                found
            });
            texts.codes.push(found);
        }
        texts
    }
}

/// The number of texts that are compared by address before a lookup by hash.
const FIRST: usize = 8;

/// The code of the text at index `place`.
fn code(place: usize) -> u32 {
    u32::try_from(place).expect("fewer than 2^32 different texts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_kept_once_however_rows_come_together() {
        let mut all: Texts = ["data", "ack", "data"].into_iter().collect();
        assert_eq!(all.names(), ["data", "ack"]);
        all.append(["syn", "ack", "syn", ""].into_iter().collect());
        all.append(Texts::default());
        all.append(Texts::repeated("", 2));
        assert_eq!(all.names(), ["data", "ack", "syn", ""]);
        assert_eq!(all.codes(), [0, 1, 0, 2, 1, 2, 3, 3, 3]);
        let rows = ["data", "ack", "data", "syn", "ack", "syn", "", "", ""];
        assert!(all.iter().eq(rows));
        assert_eq!(all, rows.into_iter().collect());
    }

    #[test]
    fn no_rows_have_no_texts() {
        assert_eq!(Texts::repeated("pifo", 0), Texts::default());
    }
}
