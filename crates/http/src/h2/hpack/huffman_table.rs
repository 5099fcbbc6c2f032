//! The Huffman code of RFC 7541, appendix B. The code is canonical: the lengths say everything.

/// The number of bits of each symbol's code; the last symbol is EOS.
pub(super) const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, //
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, //
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, //
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, //
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, //
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, //
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, //
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, //
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, //
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, //
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, //
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, //
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, //
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, //
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, //
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, //
    30,
];

/// The longest code.
pub(super) const MAX_LENGTH: usize = 30;

/// The symbols in the order of their codes, without EOS, which is the last one.
pub(super) const SYMBOLS: [u8; 256] = sort_symbols();

/// For each length, the codes of that length.
pub(super) const RANGES: [Range; MAX_LENGTH + 1] = make_ranges();

/// The code of each symbol, in the last bits.
pub(super) const CODES: [u32; 256] = make_codes();

/// How many bits of the input are looked up at once.
pub(super) const PEEKED: u32 = 11;

/// What the next bits stand for.
pub(super) static STEPS: [Step; 1 << PEEKED] = make_steps();

/// The codes of one length.
#[derive(Clone, Copy)]
pub(super) struct Range {
    /// The first of them.
    pub(super) first: u32,
    /// The one after the last.
    pub(super) end: u32,
    /// The index of the first one's symbol in `SYMBOLS`.
    pub(super) index: usize,
}

/// One or two symbols whose codes are whole in the bits that were looked up. None if the first code is longer.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) symbols: [u8; 2],
    /// How many symbols these are.
    pub(super) count: u8,
    /// How many bits their codes have.
    pub(super) bits: u8,
}

const fn sort_symbols() -> [u8; 256] {
    let mut symbols = [0; 256];
    let mut count = 0;
    let mut length = 1;
    while length <= MAX_LENGTH {
        let mut symbol = 0;
        while symbol < 256 {
            if LENGTHS[symbol] as usize == length {
                symbols[count] = symbol as u8;
                count += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    symbols
}

const fn make_ranges() -> [Range; MAX_LENGTH + 1] {
    let mut ranges = [Range { first: 0, end: 0, index: 0 }; MAX_LENGTH + 1];
    let mut length = 1;
    while length <= MAX_LENGTH {
        let before = ranges[length - 1];
        let first = before.end << 1;
        let mut end = first;
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                end += 1;
            }
            symbol += 1;
        }
        let index = before.index + (before.end - before.first) as usize;
        ranges[length] = Range { first, end, index };
        length += 1;
    }
    ranges
}

const fn make_codes() -> [u32; 256] {
    let mut codes = [0; 256];
    let mut index = 0;
    while index < 256 {
        let symbol = SYMBOLS[index] as usize;
        let range = RANGES[LENGTHS[symbol] as usize];
        codes[symbol] = range.first + (index - range.index) as u32;
        index += 1;
    }
    codes
}

const fn make_steps() -> [Step; 1 << PEEKED] {
    let mut steps = [Step { symbols: [0; 2], count: 0, bits: 0 }; 1 << PEEKED];
    let mut bits = 0;
    while bits < steps.len() {
        let mut step = steps[bits];
        while step.count < 2 {
            let Some(symbol) = first_symbol(bits as u32, step.bits as u32) else { break };
            step.symbols[step.count as usize] = symbol;
            step.count += 1;
            step.bits += LENGTHS[symbol as usize];
        }
        steps[bits] = step;
        bits += 1;
    }
    steps
}

/// The symbol whose code begins after `skipped` of the bits that are looked up, if it ends in them.
const fn first_symbol(bits: u32, skipped: u32) -> Option<u8> {
    let left = PEEKED - skipped;
    let bits = bits & ((1 << left) - 1);
    let mut length = 1;
    while length <= left {
        let code = bits >> (left - length);
        let range = RANGES[length as usize];
        if code < range.end {
            return Some(SYMBOLS[range.index + (code - range.first) as usize]);
        }
        length += 1;
    }
    None
}
