//! Reads distributions that a result file holds, and adds them up.

use std::fmt;
use std::io::Read as _;

use base64::Engine as _;
use flate2::read::ZlibDecoder;

use crate::metrics::duration_histogram::MAX_NANOS;
use crate::metrics::sparse_durations::{BINS, SparseDurations, bin, lowest};

/// A distribution as a result file has it.
#[derive(Clone, Copy, Debug)]
pub struct StoredDurations<'a> {
    /// All samples: HdrHistogram's V2 format, compressed, in base64.
    pub all: &'a str,
    /// The censored samples, the same way; `None`: there are none.
    pub censored: Option<&'a str>,
    /// The exact sum of all samples in nanoseconds, as digits; `None`: not stored, the least of each bin is added up.
    pub sum: Option<&'a str>,
    /// The shortest sample that is not censored; `None`: not stored, or there is none.
    pub min: Option<u64>,
}

/// Why a stored distribution cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredError {
    /// The text is not base64, or not the compressed format.
    Format,
    /// It is cut off, or its counts are none.
    Damaged,
    /// It has other bounds or another precision.
    Bounds,
    /// More samples than can be counted.
    TooMany,
    /// Samples are censored that are not among all samples.
    Censored,
    /// The sum or the shortest sample is not one of these samples.
    Figures,
}

impl fmt::Display for StoredError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Format => "is not a histogram of HdrHistogram's version 2, compressed, in base64",
            Self::Damaged => "is damaged",
            Self::Bounds => "has other bounds than those of millrace",
            Self::TooMany => "has more samples than can be counted",
            Self::Censored => "has more unfinished samples than samples",
            Self::Figures => "does not agree with its sum or its minimum",
        })
    }
}

impl std::error::Error for StoredError {}

/// Cookies of the format, with the word size.
const PLAIN: u32 = 0x1c84_9313;
const COMPRESSED: u32 = 0x1c84_9314;

/// Length of the head: cookie, length, offset, digits, lowest and highest value, ratio.
const HEAD: usize = 40;

/// Length of the longest number.
const MAX_NUMBER: usize = 9;

/// Samples up to which a count is exact in JavaScript.
const MAX_SAMPLES: u64 = 1 << 53;

impl SparseDurations {
    /// Adds a stored distribution, and returns the number of its samples. After an error nothing was added.
    ///
    /// # Errors
    /// The text is damaged, or is none of the histograms that this crate encodes.
    pub fn add_stored(&mut self, stored: &StoredDurations<'_>) -> Result<u64, StoredError> {
        let all = decode(stored.all)?;
        let censored = stored.censored.map_or_else(|| Ok(Vec::new()), decode)?;
        let first = first_ended(&all, &censored)?;
        let sum = check_sum(stored.sum, &all)?;
        let min = match (first, stored.min) {
            (Some(first), None) => Some(lowest(first)),
            (Some(first), Some(min)) if bin(min.min(MAX_NANOS)) == first => Some(min),
            (None, None) => None,
            _ => return Err(StoredError::Figures),
        };
        self.add_counts(&all, &censored, sum, min);
        Ok(all.iter().map(|(_, count)| count).sum())
    }
}

/// Finds the first bin with a sample that is not censored; checks that all censored ones are among the samples.
fn first_ended(
    all: &[(usize, u64)],
    censored: &[(usize, u64)],
) -> Result<Option<usize>, StoredError> {
    let mut unfinished = censored.iter().peekable();
    let mut first = None;
    for &(bin, count) in all {
        let lost = unfinished.next_if(|(at, _)| *at == bin).map_or(0, |(_, lost)| *lost);
        if lost > count {
            return Err(StoredError::Censored);
        }
        if lost < count && first.is_none() {
            first = Some(bin);
        }
    }
    if unfinished.next().is_some() { Err(StoredError::Censored) } else { Ok(first) }
}

/// Reads a sum and checks that these samples can have it.
fn check_sum(sum: Option<&str>, all: &[(usize, u64)]) -> Result<u128, StoredError> {
    let add_up = |of: fn(usize) -> u64| {
        all.iter().map(|(bin, count)| u128::from(of(*bin)) * u128::from(*count)).sum::<u128>()
    };
    let least = add_up(lowest);
    let Some(sum) = sum else { return Ok(least) };
    let sum = sum.parse().map_err(|_| StoredError::Figures)?;
    let most = add_up(|bin| lowest(bin + 1) - 1);
    if (least..=most).contains(&sum) { Ok(sum) } else { Err(StoredError::Figures) }
}

/// Decodes a histogram to the bins that have samples, ascending, and their numbers. `HdrHistogram` numbers its counts as
/// [`SparseDurations`] does its bins. Its own reader would take any bounds and lengths that damaged bytes ask for.
fn decode(text: &str) -> Result<Vec<(usize, u64)>, StoredError> {
    let outer =
        base64::engine::general_purpose::STANDARD.decode(text).map_err(|_| StoredError::Format)?;
    let (cookie, rest) = split_u32(&outer).ok_or(StoredError::Format)?;
    let (length, deflated) = split_u32(rest).ok_or(StoredError::Format)?;
    if cookie != COMPRESSED {
        return Err(StoredError::Format);
    }
    if usize::try_from(length).ok() != Some(deflated.len()) {
        return Err(StoredError::Damaged);
    }
    let most = HEAD + BINS * MAX_NUMBER;
    let mut bytes = Vec::new();
    let mut limited = ZlibDecoder::new(deflated).take(most as u64 + 1);
    limited.read_to_end(&mut bytes).map_err(|_| StoredError::Damaged)?;
    if bytes.len() > most || bytes.len() < HEAD {
        return Err(StoredError::Damaged);
    }
    let (head, counts) = bytes.split_at(HEAD);
    check_head(head, counts.len())?;
    read_counts(counts)
}

fn split_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*first), rest))
}

fn check_head(head: &[u8], counts: usize) -> Result<(), StoredError> {
    let word = |at: usize| {
        head[at..at + 4].iter().fold(0_u64, |word, byte| (word << 8) | u64::from(*byte))
    };
    let [cookie, length, offset, digits] = [0, 4, 8, 12].map(word);
    let [low, high] = [16, 24].map(|at| (word(at) << 32) | word(at + 4));
    if cookie != u64::from(PLAIN) || length != counts as u64 {
        return Err(StoredError::Damaged);
    }
    let is_ours = offset == 0 && digits == 3 && low == 1 && high == MAX_NANOS;
    if is_ours { Ok(()) } else { Err(StoredError::Bounds) }
}

/// Reads counts: numbers in `ZigZag` LEB128 of at most nine bytes, of which a negative one is that many counts of zero.
fn read_counts(bytes: &[u8]) -> Result<Vec<(usize, u64)>, StoredError> {
    let mut counts = Vec::new();
    let (mut at, mut samples) = (0_usize, 0_u64);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (number, after) = split_number(rest).ok_or(StoredError::Damaged)?;
        rest = after;
        let step = if number < 0 { number.unsigned_abs() } else { 1 };
        if number > 0 {
            let count = number.unsigned_abs();
            samples = samples.saturating_add(count);
            if samples > MAX_SAMPLES {
                return Err(StoredError::TooMany);
            }
            counts.push((at, count));
        }
        let next = usize::try_from(step).ok().and_then(|step| at.checked_add(step));
        at = next.filter(|next| *next <= BINS).ok_or(StoredError::Damaged)?;
    }
    Ok(counts)
}

fn split_number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(MAX_NUMBER).enumerate() {
        // The ninth byte has eight bits of the number, and none that says that it goes on.
        let is_last = index + 1 == MAX_NUMBER;
        let bits = if is_last { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * index);
        if is_last || *byte < 0x80 {
            let number = (value >> 1).cast_signed() ^ -((value & 1).cast_signed());
            return Some((number, &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests;
