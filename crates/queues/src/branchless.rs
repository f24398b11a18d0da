//! What keeps the compiler from making branches of truths that no processor could foresee.

/// The same truth, of which the compiler knows nothing: it would let a branch of the test go on into what is stored, and half of
/// these branches are foreseen wrongly.
#[inline(always)]
pub fn unforeseen(truth: bool) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut known = u8::from(truth);
        // SAFETY: there is no instruction in it, so that 0 stays 0 and 1 stays 1.
        #[expect(clippy::transmute_int_to_bool, reason = "a comparison would cost two instructions")]
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg_byte) known, options(pure, nomem, nostack, preserves_flags));
            core::mem::transmute::<u8, bool>(known)
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    truth
}

/// All bits if true, else none; of which the compiler knows nothing, for it would make selections of what is masked.
#[inline(always)]
pub(crate) fn mask(truth: bool) -> u64 {
    let bits = u64::from(truth).wrapping_neg();
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut known = bits;
        // SAFETY: there is no instruction in it.
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
