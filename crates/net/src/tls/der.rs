//! As much of DER (X.690) as leads to the key of a certificate that the TLS library refuses as a whole.

use rustls::pki_types::CertificateDer;

const INTEGER: u8 = 2;
const BIT_STRING: u8 = 3;
const SEQUENCE: u8 = 0x30;
/// The explicit tag 0, which a certificate of version 1 does not have.
const VERSION: u8 = 0xa0;

/// Returns the SubjectPublicKeyInfo of a certificate of any version (RFC 5280, section 4.1).
pub(super) fn find_subject_key<'a>(certificate: &'a CertificateDer<'_>) -> Option<&'a [u8]> {
    let (outer, _) = read(certificate, SEQUENCE)?;
    let (mut rest, _) = read(outer, SEQUENCE)?;
    if rest.first() == Some(&VERSION) {
        rest = skip(rest)?;
    }
    // Serial number, signature, issuer, validity, subject.
    for _ in 0..5 {
        rest = skip(rest)?;
    }
    let (_, after) = read(rest, SEQUENCE)?;
    Some(&rest[..rest.len() - after.len()])
}

/// Whether a SubjectPublicKeyInfo is an RSA key whose modulus has fewer than 2048 bits.
pub(super) fn is_short_rsa(key: &[u8]) -> bool {
    /// rsaEncryption, 1.2.840.113549.1.1.1.
    const RSA: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
    let modulus = || {
        let (inner, _) = read(key, SEQUENCE)?;
        let (algorithm, rest) = read(inner, SEQUENCE)?;
        let (bits, _) = read(rest, BIT_STRING).filter(|_| algorithm.starts_with(RSA))?;
        let (numbers, _) = read(bits.strip_prefix(&[0])?, SEQUENCE)?;
        let (modulus, _) = read(numbers, INTEGER)?;
        Some(modulus.strip_prefix(&[0]).unwrap_or(modulus).len())
    };
    modulus().is_some_and(|bytes| bytes < 2048 / 8)
}

/// Returns the contents of an element of this type, and the bytes behind it.
fn read(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    if bytes.first() == Some(&tag) { split(bytes) } else { None }
}

/// Returns the bytes behind the first element.
fn skip(bytes: &[u8]) -> Option<&[u8]> {
    split(bytes).map(|(_, after)| after)
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let [_, first, rest @ ..] = bytes else { return None };
    let (length, rest) = match *first {
        short @ 0..=0x7f => (usize::from(short), rest),
        long @ 0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}
