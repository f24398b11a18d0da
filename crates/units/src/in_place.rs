//! Clones that copy another state without allocation. A search that returns to an earlier state millions of times calls
//! `clone_from`. The derived `Clone` would implement `clone_from` by a new clone.

/// Implements [`Clone`] for a structure field by field, including `clone_from`.
#[macro_export]
macro_rules! clone_by_field {
    ($(<$parameter:ident>)? $name:ident { $($field:ident),+ }) => {
        impl$(<$parameter: Clone>)? Clone for $name$(<$parameter>)? {
            fn clone(&self) -> Self {
                Self { $($field: Clone::clone(&self.$field)),+ }
            }

            fn clone_from(&mut self, source: &Self) {
                $(Clone::clone_from(&mut self.$field, &source.$field);)+
            }
        }
    };
}

/// Implements [`Clone`] likewise for an enumeration whose variants hold one value each.
#[macro_export]
macro_rules! clone_by_variant {
    ($(<$parameter:ident>)? $name:ident { $($variant:ident),+ }) => {
        impl$(<$parameter: Clone>)? Clone for $name$(<$parameter>)? {
            fn clone(&self) -> Self {
                match self {
                    $(Self::$variant(held) => Self::$variant(Clone::clone(held)),)+
                }
            }

            fn clone_from(&mut self, source: &Self) {
                match (self, source) {
                    $((Self::$variant(held), Self::$variant(source)) => Clone::clone_from(held, source),)+
                    (other, source) => *other = Clone::clone(source),
                }
            }
        }
    };
}
