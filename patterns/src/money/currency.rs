//! Currencies.

use std::fmt;
use std::str::FromStr;

use odm::{Field, FieldType, Ordered, Text};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::decimal::Decimal;
use super::error::MoneyError;
use super::iso::{CURRENCIES, WITHDRAWN};

/// A currency: its three letters of ISO 4217. Stored as a string.
///
/// ```
/// use odm_patterns::money::Currency;
///
/// assert_eq!(Currency::JPY.digits(), Some(0));
/// assert_eq!("BHD".parse::<Currency>()?, Currency::BHD);
/// assert!("usd".parse::<Currency>().is_err());
/// # Ok::<(), odm_patterns::money::MoneyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// A code of three capital letters, for the table and for constants of other units.
    ///
    /// # Panics
    /// When it is anything else: in a constant, at compile time.
    pub const fn new(code: &str) -> Currency {
        match Currency::shaped(code.as_bytes()) {
            Some(currency) => currency,
            None => panic!("a currency has three capital letters"),
        }
    }

    const fn shaped(code: &[u8]) -> Option<Currency> {
        match code {
            [a @ b'A'..=b'Z', b @ b'A'..=b'Z', c @ b'A'..=b'Z'] => Some(Currency([*a, *b, *c])),
            _ => None,
        }
    }

    /// All currencies of ISO 4217, in the order of their codes.
    pub fn all() -> impl Iterator<Item = Currency> {
        CURRENCIES.iter().map(|(currency, _)| *currency)
    }

    /// The three letters.
    pub fn code(&self) -> &str {
        // Only ASCII letters get in.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Whether ISO 4217 lists it today. Codes that it listed once, such as `DEM`, are read but not parsed, and keep their
    /// minor units.
    pub fn is_iso(&self) -> bool {
        self.entry().is_some()
    }

    /// How many decimals its minor unit has by ISO 4217: 2 for a cent, 0 for the yen. Of a code that was withdrawn since
    /// 1998 those that it had, so that amounts which were stored before can be read. None where there is no such unit: gold,
    /// special drawing rights, and what ISO does not list.
    ///
    /// ```
    /// use odm_patterns::money::Currency;
    ///
    /// let kuna = Currency::new("HRK");
    /// assert_eq!((kuna.is_iso(), kuna.digits()), (false, Some(2)));
    /// assert_eq!(Currency::new("ITL").digits(), Some(0));
    /// ```
    pub fn digits(&self) -> Option<u32> {
        if let Some((_, digits)) = self.entry() {
            return digits.map(u32::from);
        }
        let mut withdrawn = WITHDRAWN.iter();
        let found = withdrawn.find(|(_, codes)| codes.contains(&self.code()));
        found.map(|(digits, _)| *digits)
    }

    /// The least amount that is paid in coins, where that is more than the minor unit: 0.05 for `CHF`.
    pub fn cash_increment(&self) -> Option<Decimal> {
        let (units, digits) = match *self {
            Currency::AUD | Currency::CAD | Currency::CHF => (5, 2),
            Currency::NZD => (10, 2),
            Currency::DKK => (50, 2),
            Currency::CZK | Currency::NOK | Currency::SEK => (1, 0),
            Currency::HUF => (5, 0),
            _ => return None,
        };
        Some(Decimal::new(units, digits))
    }

    fn entry(&self) -> Option<&'static (Currency, Option<u8>)> {
        let found = CURRENCIES.binary_search_by(|(currency, _)| currency.cmp(self));
        found.ok().and_then(|at| CURRENCIES.get(at))
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Currency({})", self.code())
    }
}

impl FromStr for Currency {
    type Err = MoneyError;

    /// Only what ISO 4217 lists.
    fn from_str(code: &str) -> Result<Currency, MoneyError> {
        Currency::shaped(code.as_bytes())
            .filter(Currency::is_iso)
            .ok_or_else(|| MoneyError::UnknownCurrency {
                code: code.to_owned(),
            })
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Currency, D::Error> {
        let code = String::deserialize(deserializer)?;
        Currency::shaped(code.as_bytes())
            .ok_or_else(|| D::Error::custom(format!("{code:?} is no code of a currency")))
    }
}

impl FieldType for Currency {
    type Handle<R> = Field<R, Currency>;
    type Optional<R> = Field<R, Option<Currency>>;
}

impl Ordered for Currency {}
impl Text for Currency {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_found() {
        assert!(CURRENCIES.is_sorted_by(|(a, _), (b, _)| a < b));
        assert_eq!(Currency::all().count(), CURRENCIES.len());
        for (currency, digits) in CURRENCIES {
            assert_eq!(currency.digits(), digits.map(u32::from));
            assert_eq!(currency.code().parse::<Currency>().unwrap(), *currency);
        }
        for (digits, codes) in WITHDRAWN {
            for code in codes {
                let currency = Currency::new(code);
                assert!(!currency.is_iso() && code.parse::<Currency>().is_err(), "{code}");
                assert_eq!(currency.digits(), Some(digits));
            }
        }
        assert_eq!(Currency::XAU.digits(), None);
        assert_eq!(Currency::new("QQQ").digits(), None);
        for code in ["", "US", "USDX", "usd", "DEM", "U$D", "ÄÖ"] {
            assert!(code.parse::<Currency>().is_err(), "{code}");
        }
    }
}
