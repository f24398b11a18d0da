//! Choices: an enum whose words, parser, printer and C constants come from one list.

use crate::{Kind, Param, Word};
use alloc::format;
use alloc::string::String;
use pifolab_units::Rounding;

/// Declares an enum and its words: `Variant = "word": "meaning"`. The variants' numbers in C follow this order. The
/// meaning is the first paragraph of each variant's documentation.
///
/// See the crate's example. `word` is a `const fn`, for defaults in tables.
#[macro_export]
macro_rules! choices {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of:meta])* $variant:ident = $word:literal: $meaning:expr),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $(
                #[doc = $meaning]
                #[doc = ""]
                $(#[$of])*
                $variant
            ),+
        }

        impl $name {
            /// The word of this variant.
            $vis const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        $crate::choice_words!($name, $($variant = $word: $meaning),+);
    };
}

/// The implementations that [`choices!`] adds to an enum.
#[doc(hidden)]
#[macro_export]
macro_rules! choice_words {
    ($name:ident, $($variant:ident = $word:tt: $meaning:expr),+) => {
        impl $crate::Choice for $name {
            const WORDS: &'static [$crate::Word] = &[$(($word, $meaning)),+];
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn as_word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            fn code(self) -> u32 {
                self as u32
            }
        }

        const _: () = {
            let all = <$name as $crate::Choice>::ALL;
            let mut place = 0;
            while place < all.len() {
                assert!(all[place] as usize == place, "words come in the order of their variants");
                place += 1;
            }
        };

        impl $crate::FromValue for $name {
            fn from_value(_: &$crate::Kind, value: &$crate::Value) -> Option<Self> {
                match value {
                    $crate::Value::Text(text) => <Self as $crate::Choice>::from_word(text),
                    _ => None,
                }
            }
        }
    };
}

/// The numbers of a choice as C constants (`OWNER_PARAMETER_WORD = number`), for a header that a data plane includes.
/// Empty if the parameter is not a choice.
pub fn c_constants(owner: &str, param: &Param) -> String {
    let Kind::Choice(words) = param.kind else { return String::new() };
    // A word's index is its number; a compile-time assertion checks it.
    let line = |(number, (word, _)): (usize, &Word)| {
        let name = format!("{owner}_{}_{word}", param.name).replace('-', "_").to_ascii_uppercase();
        format!("    {name} = {number},\n")
    };
    format!("enum {{\n{}}};\n", words.iter().enumerate().map(line).collect::<String>())
}

const UP_TO_PICOSECOND: &str = "up-to-picosecond";
const DOWN_TO_NANOSECOND: &str = "down-to-nanosecond";

crate::choice_words!(
    Rounding,
    UpToPicosecond = UP_TO_PICOSECOND: "up: a link is never faster than its rate",
    DownToNanosecond = DOWN_TO_NANOSECOND: "down to whole nanoseconds, as Netbench does"
);

/// The word of a rounding, for defaults in tables.
pub const fn rounding_word(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::UpToPicosecond => UP_TO_PICOSECOND,
        Rounding::DownToNanosecond => DOWN_TO_NANOSECOND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, FromValue, Value};

    choices! {
        enum Order {
            ScanFirst = "scan-first": "first",
            PushFirst = "push-first": "second",
        }
    }

    #[test]
    fn words_variants_and_c_constants_come_from_one_list() {
        for choice in Order::ALL {
            let read = Order::from_value(&Kind::Choice(Order::WORDS), &Value::Text(choice.word().into()));
            assert_eq!(read, Some(*choice));
        }
        assert_eq!(Order::from_word("scan"), None);
        let constants = c_constants("sp-pifo", &Param::choice::<Order>("order"));
        assert_eq!(constants, "enum {\n    SP_PIFO_ORDER_SCAN_FIRST = 0,\n    SP_PIFO_ORDER_PUSH_FIRST = 1,\n};\n");
        assert_eq!(c_constants("sp-pifo", &Param::flag("old")), "");
        assert_eq!(Order::PushFirst.code(), 1);
    }
}
