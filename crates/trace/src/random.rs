//! The project's own integer random numbers: the same stream on every machine.
//!
//! A generator is made from the run's seed and the *name* of what draws from it, so that adding a stream
//! somewhere changes no other stream. SplitMix64 (Steele, Lea and Flood, 2014) makes the state,
//! xoshiro256** (Blackman and Vigna, 2018) the numbers.

/// A named random stream.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

/// One step of SplitMix64: a bijection of 64-bit integers that mixes well enough to make tokens from.
#[must_use]
pub const fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The inverse of [`mix`].
#[must_use]
pub const fn unmix(mixed: u64) -> u64 {
    let mut z = mixed ^ (mixed >> 31) ^ (mixed >> 62);
    z = z.wrapping_mul(0x3196_42B2_D24D_8EC3);
    z = (z ^ (z >> 27) ^ (z >> 54)).wrapping_mul(0x96DE_1B17_3F11_9089);
    (z ^ (z >> 30) ^ (z >> 60)).wrapping_sub(0x9E37_79B9_7F4A_7C15)
}

impl Random {
    /// The stream `name` of a run with `seed`.
    #[must_use]
    pub fn stream(seed: u64, name: &str) -> Self {
        // FNV-1a over the name: streams of one seed differ by name only.
        let mut key = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        key ^= mix(seed);
        let mut state = [0; 4];
        for word in &mut state {
            *word = mix(key);
            key = key.wrapping_add(0x9E37_79B9_7F4A_7C15);
        }
        Random { state }
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `bound`, every one equally likely to within 2⁻⁶⁴ (multiply and shift, Lemire 2019,
    /// without the rejection: one draw a number keeps streams aligned).
    ///
    /// # Panics
    /// With `bound` 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing lies below 0");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }
}
