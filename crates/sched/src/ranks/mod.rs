//! Rank functions, one file each.
