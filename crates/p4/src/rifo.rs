//! RIFO: thresholds, and the tables of its version for switches (section V and Table I): floor(log2 v) as masks, and
//! 2^(a+b) for exponents of four bits.

use crate::file::File;
use crate::reader::{Reader, Refusal, read_capacities};
use pifolab_params::Choice;
use pifolab_sched::Scheduler;
use pifolab_sched::schedulers::RifoMode;
use pifolab_units::Ratio;

/// Operands of RIFO's tables have 16 bits.
const OPERAND_BITS: u32 = 16;

pub fn write(file: &mut File, reader: &mut Reader, _: &dyn Scheduler) -> Result<(), Refusal> {
    let (_, capacities) = read_capacities(reader, true)?;
    let total = capacities[0];
    let k = reader.given::<Ratio>("k")?;
    let (numerator, denominator) = (u128::from(k.numerator()), u128::from(k.denominator()));
    let mode: RifoMode = reader.given("mode")?;
    for choice in RifoMode::ALL {
        file.define(&format!("RIFO_{}", choice.as_word().to_uppercase()), choice.code());
    }
    file.define("MODE", mode.code());
    file.integer("RESTART", 64, reader.given::<u64>("reset_counter")?);
    file.integer("GUARANTEED", 64, numerator * u128::from(total) / denominator);
    // (1-k)B, times the denominator of k.
    file.integer("SHELTERED", 192, (denominator - numerator) * u128::from(total));
    file.integer("DENOMINATOR", 192, denominator);
    file.entries("LOG2", (0..u64::BITS).rev().map(log2_row));
    thresholds(file, reader, total)
}

/// What every target has: the range, (1-k)B as a power of two, and the powers.
pub fn thresholds(file: &mut File, reader: &mut Reader, total: u64) -> Result<(), Refusal> {
    reader.refuse_late_lengths()?;
    let k = reader.given::<Ratio>("k")?;
    let (numerator, denominator) = (u128::from(k.numerator()), u128::from(k.denominator()));
    let sheltered = (denominator - numerator) * u128::from(total);
    file.integer("TRACKING_RANGE", reader.target.word_bits(), reader.given::<u64>("tracking_range_packets")?);
    // (1-k)B as the nearest power of two, ties the lower one, at least 1; operands beyond 16 bits are shifted.
    let shift = (u64::BITS - total.leading_zeros()).saturating_sub(OPERAND_BITS);
    let floor = (sheltered / denominator).checked_ilog2().unwrap_or(0);
    let nearest = floor + u32::from(2 * sheltered > (3 * denominator) << floor);
    file.integer("CAPACITY_SHIFT", 8, shift);
    file.integer("SHELTERED_EXPONENT", 4, nearest.saturating_sub(shift).min(OPERAND_BITS - 1));
    file.entries("PRODUCTS", (0..256u32).map(product_row));
    Ok(())
}

/// The row of floor(log2 v) = `exponent`: its highest bit, and nothing above.
fn log2_row(exponent: u32) -> (String, String) {
    let highest = 1u64 << exponent;
    (format!("64w{highest} &&& 64w{}", !(highest - 1)), format!("8w{exponent}"))
}

/// The product of 2^a and 2^b at the exponents a and b.
fn product_row(pair: u32) -> (String, String) {
    let (a, b) = (pair >> 4, pair & 15);
    (format!("(4w{a}, 4w{b})"), format!("32w{}", 1u64 << (a + b)))
}
