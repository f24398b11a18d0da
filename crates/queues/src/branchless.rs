//! Prevents the compiler from turning unpredictable conditions into branches.

/// Returns `truth` as a value opaque to the compiler. Otherwise the compiler would branch on the test before the store,
/// and half of these branches would be mispredicted.
#[inline(always)]
pub fn unforeseen(truth: bool) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut known = u8::from(truth);
        // SAFETY: the assembly has no instruction, so that 0 stays 0 and 1 stays 1.
        #[expect(clippy::transmute_int_to_bool, reason = "a comparison would cost two instructions")]
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg_byte) known, options(pure, nomem, nostack, preserves_flags));
            core::mem::transmute::<u8, bool>(known)
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    truth
}

/// All bits if true, else none, as a value opaque to the compiler, which would otherwise replace masking by selections.
#[inline(always)]
pub(crate) fn mask(truth: bool) -> u64 {
    let bits = u64::from(truth).wrapping_neg();
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut known = bits;
        // SAFETY: the assembly has no instruction.
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) known, options(pure, nomem, nostack, preserves_flags));
        }
        known
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truth_stays_what_it_is() {
        assert_eq!([unforeseen(false), unforeseen(true)], [false, true]);
        assert_eq!([mask(false), mask(true)], [0, u64::MAX]);
    }
}
