//! Randomness from the kernel, at the moment of use: forks and VM clones copy any other.

use std::fmt::Write;

/// Where randomness comes from. The product asks the kernel; tests inject a seed.
pub trait Random: Send {
    /// 128 fresh bits.
    fn bits(&mut self) -> [u8; 16];

    /// A number below `bound` (which is greater than zero).
    fn below(&mut self, bound: u64) -> u64 {
        let bits = self.bits();
        let wide = u64::from_le_bytes([bits[0], bits[1], bits[2], bits[3], bits[4], bits[5], bits[6], bits[7]]);
        // Bias is below 2^-32 for the small bounds used here.
        wide % bound.max(1)
    }

    /// A fresh `renewal_id`: 32 hexadecimal digits.
    fn renewal_id(&mut self) -> String {
        let mut text = String::with_capacity(32);
        for byte in self.bits() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

/// The kernel's random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelRandom;

impl Random for KernelRandom {
    fn bits(&mut self) -> [u8; 16] {
        let mut bits = [0; 16];
        // Fails only on kernels without any source of randomness; the guard around the keeper
        // turns that into INTERNAL instead of two processes that draw the same.
        getrandom::fill(&mut bits).expect("the kernel gives random numbers");
        if !crate::rules::holds(crate::rules::Rule::KernelRandomness) {
            return [7; 16];
        }
        bits
    }
}
