//! Decimal128: decoding, encoding, arithmetic of 34 digits.
