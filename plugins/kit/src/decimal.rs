//! Decimal digits without the formatting machinery, which costs a plugin 4 KB, and a job of 10,000 hosts a quarter of its
//! instructions.

use alloc::string::String;

/// Appends `number`.
pub fn push(text: &mut String, number: u64) {
    if let Some(tens) = number.checked_div(10).filter(|tens| *tens > 0) {
        push(text, tens);
    }
    let digit = u8::try_from(number % 10).unwrap_or_default();
    text.push(char::from(b'0'.saturating_add(digit)));
}

/// `number` alone.
pub fn of(number: u64) -> String {
    let mut text = String::new();
    push(&mut text, number);
    text
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        for number in [0, 7, 10, 99, 100, 65_535, u64::MAX] {
            assert_eq!(of(number), number.to_string());
        }
    }
}
