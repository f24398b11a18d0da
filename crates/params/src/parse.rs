//! Conversions from values to types.

use crate::{FromValue, Kind, Value};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use pifolab_units::Ratio;

macro_rules! integers {
    ($($integer:ty),+) => {
        $(impl FromValue for $integer {
            /// # Panics
            /// If the row allows integers that the type cannot hold.
            fn from_value(kind: &Kind, value: &Value) -> Option<Self> {
                let integer = integer(kind, value)?;
                Some(Self::try_from(integer).ok().expect("the range of the row fits in the field"))
            }
        })+
    };
}
integers!(u8, u16, u32, u64, usize, i64);

impl FromValue for i128 {
    fn from_value(kind: &Kind, value: &Value) -> Option<Self> {
        integer(kind, value)
    }
}

fn integer(kind: &Kind, value: &Value) -> Option<i128> {
    let (Kind::Integer { min, max }
    | Kind::Integers { min, max }
    | Kind::IntegerOrIntegers { min, max }
    | Kind::IntegerOrDistribution { min, max }) = *kind
    else {
        return None;
    };
    let Value::Integer(integer) = value else { return None };
    (i128::from(min)..=i128::from(max)).contains(integer).then_some(*integer)
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(kind: &Kind, value: &Value) -> Option<Self> {
        let Value::List(members) = value else { return None };
        members.iter().map(|member| T::from_value(kind, member)).collect()
    }
}

impl FromValue for bool {
    fn from_value(_: &Kind, value: &Value) -> Option<Self> {
        if let Value::Flag(flag) = value { Some(*flag) } else { None }
    }
}

impl FromValue for String {
    fn from_value(_: &Kind, value: &Value) -> Option<Self> {
        if let Value::Text(text) = value { Some(text.clone()) } else { None }
    }
}

impl FromValue for f64 {
    fn from_value(_: &Kind, value: &Value) -> Option<Self> {
        let number = match value {
            Value::Integer(integer) => *integer as Self,
            Value::Decimal(text) => text.parse().ok()?,
            _ => return None,
        };
        (number.is_finite() && number > 0.0).then_some(number)
    }
}

impl FromValue for Ratio {
    fn from_value(kind: &Kind, value: &Value) -> Option<Self> {
        let whole = |integer: &i128| u64::try_from(*integer).ok();
        let ratio = match value {
            Value::Integer(integer) => Self::new(whole(integer)?, 1),
            Value::Decimal(text) | Value::Text(text) => text.parse().ok(),
            Value::List(parts) => match parts.as_slice() {
                [Value::Integer(numerator), Value::Integer(denominator)] => {
                    Self::new(whole(numerator)?, whole(denominator)?)
                }
                _ => None,
            },
            Value::Flag(_) | Value::Table(_) | Value::Tables(_) => None,
        }?;
        let allowed = match kind {
            Kind::Fraction => ratio < Self::ONE,
            Kind::Share => ratio <= Self::ONE,
            _ => ratio > Self::ZERO,
        };
        allowed.then_some(ratio)
    }
}

impl Value {
    /// Converts `text` from a command line to a value of this kind; commas separate the members of a list. A text that
    /// does not fit stays a text, which the row's check rejects with the valid values.
    pub fn from_text(kind: &Kind, text: &str) -> Self {
        let whole = |text: &str| {
            let text = text.trim();
            text.parse().map_or_else(|_| Self::Text(text.to_owned()), Self::Integer)
        };
        let list = || Self::List(text.split(',').map(whole).collect());
        match (kind, text) {
            (Kind::Integers { .. }, _) => list(),
            (Kind::IntegerOrIntegers { .. }, _) if text.contains(',') => list(),
            (Kind::Integer { .. } | Kind::IntegerOrIntegers { .. }, _) => whole(text),
            (Kind::Flag, "true") => Self::Flag(true),
            (Kind::Flag, "false") => Self::Flag(false),
            (Kind::Fraction | Kind::Positive, _) => Self::Decimal(text.to_owned()),
            (Kind::Texts, _) => Self::List(text.split(',').map(|text| Self::Text(text.trim().to_owned())).collect()),
            _ => Self::Text(text.to_owned()),
        }
    }
}

/// The decimal number in `text` times 10^`power`; `None` if the product is not a whole number of 64 bits.
pub fn exact(text: &str, power: u32) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{}{fraction}", whole.strip_prefix('+').unwrap_or(whole));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: u128 = digits.parse().ok()?;
    let shift = i64::from(power) + i64::from(exponent) - i64::try_from(fraction.len()).ok()?;
    let scale = 10u128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?);
    let value = match (shift >= 0, scale) {
        _ if digits == 0 => 0,
        (true, Some(scale)) => digits.checked_mul(scale)?,
        (false, Some(scale)) if digits.is_multiple_of(scale) => digits / scale,
        _ => return None,
    };
    u64::try_from(value).ok()
}

/// Parses a number with one of these units, such as `10G` or `1.5 ms`, into the smallest unit; `None` if the result is
/// not a whole number of 64 bits. The number may be a fraction: `1/4s`.
///
/// ```
/// use pifolab_params::{WRITTEN_RATES, WRITTEN_TIMES, exact_with_unit};
///
/// assert_eq!(exact_with_unit("10G", WRITTEN_RATES), Some(10_000_000_000));
/// assert_eq!(exact_with_unit("2.5 Mb/s", WRITTEN_RATES), Some(2_500_000));
/// assert_eq!(exact_with_unit("1/4s", WRITTEN_TIMES), Some(250_000_000_000));
/// assert_eq!(exact_with_unit("10", WRITTEN_RATES), None);
/// ```
pub fn exact_with_unit(text: &str, units: &[(&str, u32)]) -> Option<u64> {
    units.iter().find_map(|(unit, power)| {
        let number = text.trim().strip_suffix(unit)?.trim_end();
        let Some((numerator, denominator)) = number.split_once('/') else { return exact(number, *power) };
        let (numerator, denominator) = (exact(numerator, *power)?, denominator.parse::<u64>().ok()?);
        (denominator > 0 && numerator.is_multiple_of(denominator)).then(|| numerator / denominator)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_what_its_row_wants_or_stays_text() {
        let integers = Kind::IntegerOrIntegers { min: 1, max: 9 };
        let list = Value::List(alloc::vec![Value::Integer(1), Value::Text("x".to_owned())]);
        for (kind, text, value) in [
            (integers, "7", Value::Integer(7)),
            (integers, "1, x", list),
            (Kind::Integer { min: 1, max: 9 }, "many", Value::Text("many".to_owned())),
            (Kind::Flag, "true", Value::Flag(true)),
            (Kind::Flag, "yes", Value::Text("yes".to_owned())),
            (Kind::Fraction, "1/3", Value::Decimal("1/3".to_owned())),
        ] {
            assert_eq!(Value::from_text(&kind, text), value, "{text}");
        }
    }

    #[test]
    fn quantities_are_exact_or_refused() {
        assert_eq!(exact("0.1", 12), Some(100_000_000_000));
        assert_eq!(exact("1e-3", 12), Some(1_000_000_000));
        assert_eq!(exact("2.5", 0), None);
        assert_eq!(exact("2.50", 1), Some(25));
        assert_eq!(exact("1.090909", 3), None);
        assert_eq!(exact("+7", 0), Some(7));
        assert_eq!(exact("0e999999", 12), Some(0));
        for text in ["", "-1", "inf", "nan", "1e999", "1e-40", "99999999999999999999999999999999999999999", ".", "e1"] {
            assert_eq!(exact(text, 12), None, "{text}");
        }
    }
}
