//! Deterministic random values for tests: every type, few distinct names and numbers that lie close.

use super::decimal::Decimal;
use super::owned::Owned;

/// A generator of values; the same seed gives the same values.
pub(crate) struct Sample(u64);

impl Sample {
    pub(crate) fn new(seed: u64) -> Sample {
        Sample(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A random word (xorshift64*).
    pub(crate) fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.word() >> 33) as usize % limit
    }

    /// One of the items.
    pub(crate) fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// A number of any of the four types, often a neighbour of another.
    pub(crate) fn number(&mut self) -> Owned {
        let base: i64 = self.pick(&[
            0,
            1,
            -1,
            2,
            10,
            i32::MAX.into(),
            i32::MIN.into(),
            1 << 53,
            -(1 << 53),
            (1 << 53) + 3,
            1 << 62,
            i64::MAX,
            i64::MIN,
            123_456_789_012_345_678,
        ]);
        let near = base.wrapping_add(self.below(5) as i64 - 2);
        match self.below(8) {
            0 => Owned::Int32(near as i32),
            1 => Owned::Int64(near),
            2 => Owned::Double(near as f64),
            3 => {
                let double = self.pick(&[
                    0.1,
                    0.5,
                    1e300,
                    f64::MAX,
                    f64::MIN_POSITIVE,
                    5e-324,
                    1e22,
                    1e23,
                    9_223_372_036_854_775_808.0,
                    0.3,
                    1.0 / 3.0,
                ]);
                let double = f64::from_bits(double.to_bits() + self.below(2) as u64);
                Owned::Double(if self.below(2) == 0 { double } else { -double })
            }
            4 => Owned::Double(self.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0])),
            5 => {
                let text = self.pick(&[
                    "NaN",
                    "Infinity",
                    "-Infinity",
                    "0.1",
                    "0.10",
                    "-0.1",
                    "0E+6000",
                    "-0",
                    "1E+400",
                    "-1E+400",
                    "1E-400",
                    "-1E-6176",
                    "9.999999999999999999999999999999999E+6144",
                    "1.797693134862315708145274237317043E+308",
                    "1.797693134862315708145274237317044E+308",
                    "4.940656458412465441765687928682213E-324",
                    "1E+22",
                    "1E+23",
                    "0.3333333333333333148296162562473910",
                ]);
                Owned::Decimal128(Decimal::parse(text).unwrap().to_bytes())
            }
            6 => {
                let text = format!("{near}.{}", self.pick(&["0", "5", "000000000000001", "25"]));
                Owned::Decimal128(Decimal::parse(&text).unwrap().to_bytes())
            }
            _ => Owned::Decimal128(
                Decimal::Finite {
                    negative: self.below(2) == 0,
                    coefficient: u128::from(self.word()) << self.below(40),
                    exponent: self.below(60) as i32 - 30,
                }
                .to_bytes(),
            ),
        }
    }

    /// A short string, at times with NUL or beyond ASCII.
    pub(crate) fn text(&mut self) -> String {
        let length = self.below(4);
        (0..length)
            .map(|_| self.pick(&['\0', '\u{1}', 'a', 'b', 'A', 'é', '\u{ffff}', '\u{10ffff}']))
            .collect()
    }

    fn name(&mut self) -> String {
        self.pick(&["a", "b", "aa", "", "é"]).to_owned()
    }

    /// A value of any type, nested at most `depth` deep.
    pub(crate) fn value(&mut self, depth: usize) -> Owned {
        let choices = if depth == 0 { 17 } else { 21 };
        match self.below(choices) {
            0 => Owned::MinKey,
            1 => Owned::MaxKey,
            2 => Owned::Undefined,
            3 => Owned::Null,
            4 => Owned::String(self.text()),
            5 => Owned::Symbol(self.text()),
            6 => Owned::Binary {
                subtype: self.pick(&[0, 2, 4, 0x80]),
                bytes: self.text().into_bytes(),
            },
            7 => Owned::ObjectId([self.pick(&[0, 1, 255]); 12]),
            8 => Owned::Bool(self.below(2) == 0),
            9 => Owned::DateTime(self.pick(&[i64::MIN, -1, 0, 1, i64::MAX])),
            10 => Owned::Timestamp {
                time: self.pick(&[0, 1, u32::MAX]),
                increment: self.pick(&[0, 1, u32::MAX]),
            },
            11 => Owned::regex(self.pick(&["", "a", "ab", "b"]), self.pick(&["", "i"])),
            12 => Owned::DbPointer {
                namespace: self.text().into(),
                id: [self.pick(&[0, 255]); 12],
            },
            13 => Owned::Code(self.text()),
            17 => {
                let code = self.text();
                let scope = self.fields(depth - 1);
                Owned::CodeWithScope(Box::new((code, scope)))
            }
            18 => Owned::Document(self.fields(depth - 1)),
            19 | 20 => {
                let length = self.below(4);
                Owned::Array((0..length).map(|_| self.value(depth - 1)).collect())
            }
            _ => self.number(),
        }
    }

    fn fields(&mut self, depth: usize) -> Vec<(String, Owned)> {
        let length = self.below(4);
        (0..length).map(|_| (self.name(), self.value(depth))).collect()
    }
}
