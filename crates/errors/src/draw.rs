//! Random numbers that are functions of what they are for: equal on every machine, in any order, on any thread.

/// One step of SplitMix64 (Steele, Lea and Flood, 2014): a bijection of 64-bit integers that mixes well.
const fn mix(of: u64) -> u64 {
    let mut z = of.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The number of a read, uniform over all 64-bit integers: of the `read`-th read of a page since its block was erased
/// for the `erases`-th time.
#[must_use]
pub const fn uniform(seed: u64, block: u64, page: u64, erases: u64, read: u64) -> u64 {
    mix(mix(mix(mix(mix(seed) ^ block) ^ page) ^ erases) ^ read)
}

/// Random numbers with a name and an index: those of drive 7's frailty, say.
#[derive(Clone, Debug)]
pub struct Stream {
    key: u64,
    drawn: u64,
}

impl Stream {
    /// The stream of this name for the thing with this index.
    #[must_use]
    pub fn new(seed: u64, name: &str, index: u64) -> Self {
        let name = name.bytes().fold(mix(name.len() as u64), |key, byte| mix(key ^ u64::from(byte)));
        Stream { key: mix(mix(mix(seed) ^ name) ^ index), drawn: 0 }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.key ^ mix(self.drawn))
    }

    /// A number between 0 and 1, neither of them possible.
    pub fn open(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// A standard normal number, by the polar coordinates of Box and Muller (1958).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.open()));
        radius * libm::cos(std::f64::consts::TAU * self.open())
    }

    /// A gamma number of mean 1: by Marsaglia and Tsang (2000), for shapes below 1 with their power of a uniform
    /// number. `shape` is above 0.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        debug_assert!(shape > 0.0, "a gamma number has a shape above 0");
        if shape < 1.0 {
            let more = self.gamma(shape + 1.0) * (shape + 1.0);
            return more * libm::exp(libm::log(self.open()) / shape) / shape;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let root = 1.0 + c * x;
            if root > 0.0 {
                let v = root * root * root;
                if libm::log(self.open()) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                    return d * v / shape;
                }
            }
        }
    }
}
