//! Kubernetes quantities: `500m`, `1.5`, `64Gi`, `2e3`.

use std::fmt;

use serde_json::Value;

/// Nano-units in one unit: the finest that Kubernetes keeps.
const NANO: u128 = 1_000_000_000;

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
/// Suffix and power of ten, in nano-units.
const DECIMAL: [(&str, u32); 10] =
    [("n", 0), ("u", 3), ("m", 6), ("", 9), ("k", 12), ("M", 15), ("G", 18), ("T", 21), ("P", 24), ("E", 27)];

/// An amount that is not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quantity {
    nano: u128,
    /// Written with a suffix such as `Gi`, and to be written so again.
    binary: bool,
}

impl Quantity {
    /// A text, or a bare number; `None` if it is neither, negative or beyond all measure.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// Digits, with at most one point, then a suffix or an exponent.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('+').unwrap_or(text);
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at_checked(end)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || fraction.contains('.') {
            return None;
        }
        let digits: u128 = [whole, fraction].concat().parse().ok()?;
        let point = u32::try_from(fraction.len()).ok()?;
        if let Some((_, shift)) = BINARY.iter().find(|(name, _)| *name == suffix) {
            let nano = digits.checked_mul(1 << shift)?.checked_mul(NANO)?;
            return Some(Self { nano: nano.div_ceil(10_u128.checked_pow(point)?), binary: true });
        }
        let power = i64::from(decimal_power(suffix)?) - i64::from(point);
        let scale = 10_u128.checked_pow(u32::try_from(power.unsigned_abs()).ok()?)?;
        let nano = if power < 0 { digits.div_ceil(scale) } else { digits.checked_mul(scale)? };
        Some(Self { nano, binary: false })
    }

    /// Rounded up.
    pub fn units(self) -> u64 {
        u64::try_from(self.nano.div_ceil(NANO)).unwrap_or(u64::MAX)
    }

    /// Thousandths, rounded up.
    pub fn millis(self) -> u64 {
        u64::try_from(self.nano.div_ceil(NANO / 1000)).unwrap_or(u64::MAX)
    }

    /// The sum, written like the first that is not zero.
    pub fn plus(self, other: Self) -> Self {
        let binary = if self.nano == 0 { other.binary } else { self.binary };
        Self { nano: self.nano.saturating_add(other.nano), binary }
    }

    /// The larger of the two.
    pub fn max(self, other: Self) -> Self {
        if self.nano >= other.nano { self } else { other }
    }

    /// `count` of them.
    pub fn times(self, count: u32) -> Self {
        Self { nano: self.nano.saturating_mul(u128::from(count)), ..self }
    }
}

/// The power of ten of a suffix or an exponent, in nano-units.
fn decimal_power(suffix: &str) -> Option<i32> {
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return i32::try_from(*power).ok();
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    exponent.checked_add(9)
}

impl fmt::Display for Quantity {
    /// The largest suffix that leaves no fraction, as Kubernetes writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.binary && self.nano.is_multiple_of(NANO) {
            let units = self.nano / NANO;
            let fits = |shift: &u32| units > 0 && units.is_multiple_of(1 << shift);
            return match BINARY.iter().rev().find(|(_, shift)| fits(shift)) {
                Some((suffix, shift)) => write!(f, "{}{suffix}", units >> shift),
                None => write!(f, "{units}"),
            };
        }
        let fits = |power: &u32| self.nano > 0 && self.nano.is_multiple_of(10_u128.pow(*power));
        match DECIMAL.iter().rev().find(|(_, power)| fits(power)) {
            Some((suffix, power)) => write!(f, "{}{suffix}", self.nano / 10_u128.pow(*power)),
            None => f.write_str("0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn every_suffix_is_read() {
        let units = [("1", 1), ("2k", 2000), ("3M", 3_000_000), ("1.5Gi", 1_610_612_736), ("2e3", 2000)];
        for (text, expected) in units {
            assert_eq!(parse(text).units(), expected, "{text}");
        }
        assert_eq!(parse("1Ei").units(), 1 << 60);
        assert_eq!(parse("5E").units(), 5_000_000_000_000_000_000);
        assert_eq!(parse("1E2").units(), 100);
        assert_eq!(parse(".5").millis(), 500);
        assert_eq!(parse("250m").millis(), 250);
        assert_eq!(parse("1u").millis(), 1, "rounded up");
        assert_eq!(parse("15e-1").millis(), 1500);
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in
            ["", ".", "Gi", "-1", "1.2.3", "1 Gi", "1gi", "1e", "1e99", "0x1", "99999999999999999999Ei"]
        {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
        assert_eq!(Quantity::read(&Value::Null), None);
        assert_eq!(Quantity::read(&serde_json::json!(2)), Some(parse("2")));
        assert_eq!(Quantity::read(&serde_json::json!(0.5)), Some(parse("500m")));
    }

    #[test]
    fn sums_keep_the_way_of_writing() {
        assert_eq!(parse("20Gi").plus(parse("10Gi")).to_string(), "30Gi");
        assert_eq!(Quantity::default().plus(parse("512Mi")).times(2).to_string(), "1Gi");
        assert_eq!(parse("500m").plus(parse("2")).to_string(), "2500m");
        assert_eq!(parse("1000").to_string(), "1k");
        assert_eq!(parse("0").to_string(), "0");
    }

    proptest! {
        #[test]
        fn a_written_quantity_reads_the_same(nano in 0..u128::from(u64::MAX), binary: bool) {
            let nano = if binary { nano * NANO } else { nano };
            let written = Quantity { nano, binary }.to_string();

            prop_assert_eq!(parse(&written).nano, nano, "{}", written);
        }

        #[test]
        fn no_text_stops_the_reader(text in any::<String>()) {
            let _ = Quantity::parse(&text);
        }
    }
}
