//! Rules of the grammar that requests and responses share.

/// Whether a byte is a `tchar` (RFC 9110, section 5.6.2).
#[must_use]
pub fn is_token_byte(byte: u8) -> bool {
    const TOKEN: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            table[byte] = (byte as u8).is_ascii_alphanumeric();
            byte += 1;
        }
        let others = b"!#$%&'*+-.^_`|~";
        let mut i = 0;
        while i < others.len() {
            table[others[i] as usize] = true;
            i += 1;
        }
        table
    };
    TOKEN[byte as usize]
}

/// Whether these bytes are a token (RFC 9110, section 5.6.2). Without an early exit, so that the loop becomes vector code.
#[must_use]
pub fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().fold(true, |all, &byte| all & is_token_byte(byte))
}

/// Maximum digits of a number that is exact in JavaScript.
const MAX_EXACT_DIGITS: usize = 15;

/// Parses a `Content-Length` of at most 15 digits, which is exact in JavaScript.
#[must_use]
pub fn parse_content_length(digits: &[u8]) -> Option<u64> {
    if digits.len() > MAX_EXACT_DIGITS { None } else { parse_decimal(digits) }
}

/// Parses a decimal number below 2^64: one or more digits, and nothing else.
#[must_use]
pub fn parse_decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_consists_of_token_bytes_and_is_not_empty() {
        assert!(is_token(b"X-Key!") && is_token(b"~"));
        for name in [&b""[..], b"a b", b"a:", b"\xfc", b"(", b"a\r"] {
            assert!(!is_token(name), "{name:?}");
        }
        let others = |byte: &u8| b"!#$%&'*+-.^_`|~".contains(byte);
        assert!((0..=255).all(|byte: u8| {
            is_token_byte(byte) == (byte.is_ascii_alphanumeric() || others(&byte))
        }));
    }

    #[test]
    fn a_length_has_digits_only_and_at_most_15_of_them() {
        assert_eq!(parse_content_length(b"0"), Some(0));
        assert_eq!(parse_content_length(b"000000000000012"), Some(12));
        assert_eq!(parse_decimal(b"18446744073709551615"), Some(u64::MAX));
        for digits in [&b""[..], b"+1", b"-1", b"1 ", b"0x1", b"1_0"] {
            assert_eq!((parse_content_length(digits), parse_decimal(digits)), (None, None));
        }
        assert_eq!(parse_content_length(b"0000000000000001"), None);
        assert_eq!(parse_decimal(b"18446744073709551616"), None);
    }
}
