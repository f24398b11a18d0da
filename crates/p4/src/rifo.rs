//! RIFO: thresholds, and the tables of its version for switches (section V and Table I): floor(log2 v) as masks, and
//! 2^(a+b) for exponents of four bits.

use crate::file::File;
use crate::setting::{Refusal, Setting};
use pifolab_params::Choice;
use pifolab_registry::RifoModeName as RifoMode;
use pifolab_registry::variants::Rifo;
use pifolab_sched::schedulers::{Headroom, ShelteredPower};

/// The largest exponent that the tables of products take: their operands have 16 bits.
const LARGEST_EXPONENT: u32 = 15;

pub fn write(file: &mut File, setting: &Setting<'_>) -> Result<(), Refusal> {
    let Rifo { params, mode, .. } = setting.params();
    let headroom = Headroom::new(params.k, setting.capacities[0]);
    if *mode == RifoMode::Netbench {
        return Err(setting
            .unsupported("mode = netbench: expected alg1, eq3 or pow2, since there is no floating-point arithmetic"));
    }
    for choice in RifoMode::ALL {
        file.define(&format!("RIFO_{}", choice.as_word().to_uppercase()), choice.code());
    }
    file.define("MODE", mode.code());
    file.integer("RESTART", 64, params.reset_counter as u64);
    file.integer("GUARANTEED", 64, headroom.guaranteed());
    // (1-k)B, times the denominator of k.
    file.integer("SHELTERED", 192, headroom.sheltered());
    file.integer("DENOMINATOR", 192, headroom.scale());
    file.entries("LOG2", (0..u64::BITS).rev().map(log2_row));
    thresholds(file, setting)
}

/// The definitions of every target: the range, (1-k)B as a power of two, and the powers.
pub fn thresholds(file: &mut File, setting: &Setting<'_>) -> Result<(), Refusal> {
    let Rifo { params, delay, .. } = setting.params();
    setting.refuse_late_lengths(*delay)?;
    file.integer("TRACKING_RANGE", setting.target.word_bits(), params.tracking_range);
    let ShelteredPower { exponent, shift } = Headroom::new(params.k, setting.capacities[0]).power();
    let sheltered_exponent = exponent.min(LARGEST_EXPONENT);
    file.integer("CAPACITY_SHIFT", 8, shift);
    file.integer("SHELTERED_EXPONENT", 4, sheltered_exponent);
    // The products include the part of the exponent of (1-k)B above four bits.
    file.entries("LEFT_PRODUCTS", products(exponent - sheltered_exponent));
    file.entries("RIGHT_PRODUCTS", products(0));
    Ok(())
}

/// The row of floor(log2 v) = `exponent`: its highest bit, and nothing above.
fn log2_row(exponent: u32) -> (String, String) {
    let highest = 1u64 << exponent;
    (format!("64w{highest} &&& 64w{}", !(highest - 1)), format!("8w{exponent}"))
}

/// The product of 2^a, 2^b and 2^`excess` at the exponents a and b.
fn products(excess: u32) -> impl Iterator<Item = (String, String)> {
    (0..256u32).map(move |pair| {
        let (a, b) = (pair >> 4, pair & 15);
        (format!("(4w{a}, 4w{b})"), format!("32w{}", 1u64 << (a + b + excess)))
    })
}
