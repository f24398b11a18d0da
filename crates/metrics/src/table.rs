//! Tables of named columns. Python converts them to data frames without a copy of each row.

use crate::Texts;

/// A named table; all columns have the same length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name, which is also the name of the Parquet file, for example `ranks`.
    pub name: &'static str,
    /// The columns in order. A column's name includes its unit, if it has one.
    pub columns: Vec<(&'static str, Column)>,
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Integers.
    Integers(Vec<i64>),
    /// Integers with missing values.
    Optional(Vec<Option<i64>>),
    /// Numbers.
    Reals(Vec<f64>),
    /// Texts.
    Texts(Texts),
}

impl Column {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Optional(values) => values.len(),
            Self::Reals(values) => values.len(),
            Self::Texts(values) => values.codes().len(),
        }
    }

    /// Whether the column has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Integers(mine), Self::Integers(theirs)) => mine.extend(theirs),
            (Self::Optional(mine), Self::Optional(theirs)) => mine.extend(theirs),
            (Self::Reals(mine), Self::Reals(theirs)) => mine.extend(theirs),
            (Self::Texts(mine), Self::Texts(theirs)) => mine.append(theirs),
            (mine, theirs) => panic!("a column changes its type from {mine:?} to {theirs:?}"),
        }
    }
}

impl Table {
    /// Creates a table of these columns.
    ///
    /// # Panics
    /// If the columns' lengths differ.
    pub fn new(name: &'static str, columns: Vec<(&'static str, Column)>) -> Self {
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        for (column, values) in &columns {
            assert_eq!(values.len(), rows, "rows of column {column} in table {name}");
        }
        Self { name, columns }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The values of the column `name`.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(column, _)| *column == name).map(|(_, values)| values)
    }

    /// Returns the table with a new first column that holds `value` in every row.
    #[must_use]
    pub fn labelled(mut self, column: &'static str, value: &str) -> Self {
        let label = Column::Texts(Texts::repeated(value, self.rows()));
        self.columns.insert(0, (column, label));
        self
    }

    /// Adds the rows of `other`.
    ///
    /// # Panics
    /// If the names or types of the columns differ.
    pub fn append(&mut self, other: Self) {
        assert_eq!(self.name, other.name);
        assert_eq!(self.columns.len(), other.columns.len(), "columns of table {}", self.name);
        for ((mine, values), (theirs, more)) in self.columns.iter_mut().zip(other.columns) {
            assert_eq!(*mine, theirs, "a column of table {}", self.name);
            values.append(more);
        }
    }
}

/// Converts a count or rank to a column's integer.
///
/// # Panics
/// If `value` is 2^63 or more, which no count or rank reaches.
pub fn whole(value: u64) -> i64 {
    i64::try_from(value).expect("counts and ranks stay below 2^63")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_several_schedulers_become_one() {
        let table = |value| Table::new("t", vec![("value", Column::Integers(vec![value]))]);
        let mut all = table(1).labelled("scheduler", "pifo");
        all.append(table(2).labelled("scheduler", "fifo"));
        assert_eq!(all.rows(), 2);
        assert_eq!(all.column("scheduler"), Some(&Column::Texts(["pifo", "fifo"].into_iter().collect())));
        assert_eq!(all.column("value"), Some(&Column::Integers(vec![1, 2])));
        assert_eq!(all.column("nothing"), None);
    }

    #[test]
    #[should_panic(expected = "rows of column b in table t")]
    fn columns_of_different_lengths_are_our_bug() {
        let _ = Table::new("t", vec![("a", Column::Reals(vec![1.0])), ("b", Column::Reals(vec![]))]);
    }
}
