//! Strings in the Huffman code of HPACK (RFC 7541, section 5.2).

use super::DecodeError;
use super::huffman_table::{CODES, LENGTHS, MAX_LENGTH, PEEKED, RANGES, STEPS, SYMBOLS, Step};

/// The shortest code.
const MIN_LENGTH: usize = 5;

/// The number of octets of a string in the code.
pub(super) fn encoded_len(string: &[u8]) -> usize {
    let bits: usize = string.iter().map(|&symbol| usize::from(LENGTHS[usize::from(symbol)])).sum();
    bits.div_ceil(8)
}

/// Appends a string in the code.
pub(super) fn encode(string: &[u8], out: &mut Vec<u8>) {
    let mut window = 0u64;
    let mut bits = 0;
    for &symbol in string {
        let length = u32::from(LENGTHS[usize::from(symbol)]);
        window = window << length | u64::from(CODES[usize::from(symbol)]);
        bits += length;
        if bits >= 32 {
            bits -= 32;
            out.extend_from_slice(&((window >> bits) as u32).to_be_bytes());
        }
    }
    // The rest of the last octet are ones, the start of EOS.
    let octets = bits.div_ceil(8);
    let padding = octets * 8 - bits;
    window = window << padding | ((1 << padding) - 1);
    out.extend_from_slice(&(window as u32).to_be_bytes()[4 - octets as usize..]);
}

/// Appends the string that `input` is in the code, and gives its length. A string that is longer than `room` is checked
/// but not appended: then there is no length.
pub(super) fn decode(
    input: &[u8],
    out: &mut Vec<u8>,
    room: usize,
) -> Result<Option<usize>, DecodeError> {
    let longest = input.len() * 8 / MIN_LENGTH;
    if longest > room {
        let mut count = 0;
        decode_symbols(input, |_, more| count += more)?;
        if count > room {
            return Ok(None);
        }
    }
    let start = out.len();
    // Two symbols are written at once, though it may be one.
    out.resize(start + longest.min(room) + 1, 0);
    let mut end = start;
    let result = decode_symbols(input, |symbols, count| {
        out[end..end + 2].copy_from_slice(&symbols);
        end += count;
    });
    out.truncate(end);
    result.map(|()| Some(end - start))
}

/// Calls `emit` for one or two symbols at a time, with their number.
#[inline]
fn decode_symbols(input: &[u8], mut emit: impl FnMut([u8; 2], usize)) -> Result<(), DecodeError> {
    let mut rest = input;
    // The next bits from the top, and how many of them are counted.
    let mut window = 0u64;
    let mut bits = 0u32;
    loop {
        if let Some(word) = rest.first_chunk() {
            // Bits that are not counted come again, and are the same.
            window |= u64::from_be_bytes(*word) >> bits;
            rest = &rest[(63 - bits as usize) / 8..];
            bits |= 56;
        } else {
            while bits <= 56
                && let Some((&octet, after)) = rest.split_first()
            {
                window |= u64::from(octet) << (56 - bits);
                bits += 8;
                rest = after;
            }
        }
        if bits < MAX_LENGTH as u32 {
            return decode_end(window, bits, emit);
        }
        while bits >= MAX_LENGTH as u32 {
            let step = match peek(window) {
                Step { count: 0, .. } => decode_long(window).ok_or(DecodeError::InvalidHuffman)?,
                step => step,
            };
            emit(step.symbols, step.count.into());
            window <<= step.bits;
            bits -= u32::from(step.bits);
        }
    }
}

/// The last symbols and the padding: fewer bits than the longest code has.
fn decode_end(
    window: u64,
    mut bits: u32,
    mut emit: impl FnMut([u8; 2], usize),
) -> Result<(), DecodeError> {
    let mut window = window | u64::MAX.checked_shr(bits).unwrap_or(0);
    loop {
        let mut step = peek(window);
        if step.count == 0 {
            let Some(long) = decode_long(window) else { break };
            step = long;
        } else if u32::from(step.bits) > bits {
            // The second one may be made of padding.
            step.count = 1;
            step.bits = LENGTHS[usize::from(step.symbols[0])];
        }
        if u32::from(step.bits) > bits {
            break;
        }
        emit(step.symbols, step.count.into());
        window = window << step.bits | ((1 << step.bits) - 1);
        bits -= u32::from(step.bits);
    }
    // Padding is shorter than an octet, and ones.
    let is_padding = bits < 8 && window.leading_ones() >= bits;
    if is_padding { Ok(()) } else { Err(DecodeError::InvalidHuffman) }
}

fn peek(window: u64) -> Step {
    STEPS[(window >> (64 - PEEKED)) as usize]
}

/// The next symbol if its code is longer than what is looked up; none for EOS.
#[cold]
fn decode_long(window: u64) -> Option<Step> {
    (PEEKED as usize + 1..=MAX_LENGTH).find_map(|length| {
        let code = (window >> (64 - length)) as u32;
        let range = RANGES[length];
        let offset = code.checked_sub(range.first).filter(|_| code < range.end)?;
        let &symbol = SYMBOLS.get(range.index + offset as usize)?;
        Some(Step { symbols: [symbol, 0], count: 1, bits: length as u8 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_all(input: &[u8]) -> Result<Vec<u8>, DecodeError> {
        let mut out = Vec::new();
        let length = decode(input, &mut out, usize::MAX)?;
        assert_eq!(length, Some(out.len()));
        Ok(out)
    }

    #[test]
    fn codes_are_those_of_the_rfc() {
        // Some of each length that occurs, from appendix B.
        for (symbol, code, length) in [
            (b'0', 0x0, 5),
            (b't', 0x9, 5),
            (b' ', 0x14, 6),
            (b'u', 0x2d, 6),
            (b':', 0x5c, 7),
            (b'z', 0x7b, 7),
            (b'&', 0xf8, 8),
            (b'Z', 0xfd, 8),
            (b'!', 0x3f8, 10),
            (b'\'', 0x7fa, 11),
            (b'#', 0xffa, 12),
            (b'~', 0x1ffd, 13),
            (b'^', 0x3ffc, 14),
            (b'<', 0x7ffc, 15),
            (b'\\', 0x7fff0, 19),
            (0x80, 0xfffe6, 20),
            (0xa1, 0x1fffdd, 21),
            (0x81, 0x3fffd2, 22),
            (1, 0x7fffd8, 23),
            (9, 0xffffea, 24),
            (199, 0x1ffffec, 25),
            (192, 0x3ffffe0, 26),
            (203, 0x7ffffde, 27),
            (2, 0xfffffe2, 28),
            (22, 0x3ffffffe, 30),
        ] {
            assert_eq!(CODES[usize::from(symbol)], code, "{symbol}");
            assert_eq!(LENGTHS[usize::from(symbol)], length, "{symbol}");
        }
    }

    #[test]
    fn every_pair_of_symbols_comes_back() {
        for pair in 0..=u16::MAX {
            let mut string = pair.to_be_bytes().to_vec();
            for _ in 0..2 {
                let mut encoded = Vec::new();
                encode(&string, &mut encoded);
                assert_eq!(encoded.len(), encoded_len(&string));
                assert_eq!(decode_all(&encoded).as_ref(), Ok(&string));
                string.extend_from_slice(b"long enough for a word");
            }
        }
    }

    #[test]
    fn padding_is_shorter_than_an_octet_and_ones() {
        // "0" is five zeros.
        assert_eq!(decode_all(&[0b0000_0111]), Ok(b"0".to_vec()));
        assert_eq!(decode_all(&[]), Ok(vec![]));
        for input in [
            &[0b0000_0110][..],
            &[0b0000_0011],
            &[0b0000_0111, 0xff],
            &[0xff],
            &[0xff, 0xff, 0xff, 0xff],
            &[0xff; 9],
            &[0xf8],
        ] {
            let expected =
                if input == [0xf8] { Ok(b"&".to_vec()) } else { Err(DecodeError::InvalidHuffman) };
            assert_eq!(decode_all(input), expected, "{input:x?}");
        }
    }

    #[test]
    fn what_has_no_room_is_checked_but_not_appended() {
        let mut encoded = Vec::new();
        encode(b"eight it", &mut encoded);
        let mut out = b"before ".to_vec();
        assert_eq!(decode(&encoded, &mut out, 7), Ok(None));
        assert_eq!(out, b"before ");
        assert_eq!(decode(&encoded, &mut out, 8), Ok(Some(8)));
        assert_eq!(out, b"before eight it");
        encoded.push(0xff);
        assert_eq!(decode(&encoded, &mut out, 7), Err(DecodeError::InvalidHuffman));
    }
}
