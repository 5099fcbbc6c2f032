//! Integers of HPACK (RFC 7541, section 5.1).

use super::DecodeError;

/// Octets after the first one. More are refused, even if they add nothing.
const MAX_CONTINUATION: usize = 5;

/// Takes an integer from the start of `input`. Its first octet has `prefix` bits of it.
#[inline]
pub(super) fn decode(input: &mut &[u8], prefix: u32) -> Result<usize, DecodeError> {
    let (&first, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
    *input = rest;
    let mask = u8::MAX >> (8 - prefix);
    if first & mask < mask {
        return Ok((first & mask).into());
    }
    decode_continuation(input, mask.into())
}

fn decode_continuation(input: &mut &[u8], prefix: u64) -> Result<usize, DecodeError> {
    let mut value = prefix;
    for position in 0..MAX_CONTINUATION {
        let (&octet, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
        *input = rest;
        value += u64::from(octet & 0x7f) << (7 * position);
        if octet & 0x80 == 0 {
            let value = u32::try_from(value).map_err(|_| DecodeError::IntegerTooLarge)?;
            return usize::try_from(value).map_err(|_| DecodeError::IntegerTooLarge);
        }
    }
    Err(DecodeError::IntegerTooLarge)
}

/// Appends an integer. Its first octet is `pattern` with the integer in its last `prefix` bits.
#[inline]
pub(super) fn encode(value: usize, prefix: u32, pattern: u8, out: &mut Vec<u8>) {
    let mask = u8::MAX >> (8 - prefix);
    if value < mask.into() {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | mask);
    let mut rest = value - usize::from(mask);
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        for (value, prefix, octets) in
            [(10, 5, &[10][..]), (1337, 5, &[31, 154, 10]), (42, 8, &[42])]
        {
            let mut out = Vec::new();
            encode(value, prefix, 0, &mut out);
            assert_eq!(out, octets);
            assert_eq!(decode(&mut &octets[..], prefix), Ok(value));
        }
    }

    #[test]
    fn what_is_too_large_or_cut_off_is_refused() {
        let largest = [0x1f, 0xe0, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(decode(&mut &largest[..], 5), Ok(u32::MAX as usize));
        for octets in [
            &[0x1f, 0xe1, 0xff, 0xff, 0xff, 0x0f][..],
            &[0x1f, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[0x1f, 0x80, 0x80, 0x80, 0x80, 0x80, 0],
            &[0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert_eq!(decode(&mut &octets[..], 5), Err(DecodeError::IntegerTooLarge));
        }
        for octets in [&[][..], &[0x1f], &[0x1f, 0x80]] {
            assert_eq!(decode(&mut &octets[..], 5), Err(DecodeError::Truncated));
        }
    }
}
