//! Files of OpenSSL, the same with open lengths as Firefox writes them, and files that are damaged or ask for too much.

use millrace_pkcs12::{Contents, Error, open};
use proptest::prelude::*;

const PASSPHRASE: &str = "straße😀";
const PLAIN: &[u8] = include_bytes!("files/plain.p12");
const ENCRYPTED: [(&str, &[u8]); 5] = [
    ("PBES2", include_bytes!("files/pbes2.p12")),
    ("PBES2 with DES", include_bytes!("files/pbes2-des.p12")),
    ("RC2 of 40 bits", include_bytes!("files/rc2.p12")),
    ("RC2 of 128 bits", include_bytes!("files/rc2-128.p12")),
    ("DES", include_bytes!("files/des.p12")),
];

/// What each file contains.
fn expected() -> Contents {
    let contents = open(PLAIN, "").expect("nothing is encrypted");
    let Contents { certificates, keys } = &contents;
    assert_eq!((certificates.len(), keys.len()), (2, 1));
    let names = [&b"client"[..], b"ca"];
    for (certificate, subject) in certificates.iter().zip(names) {
        // The subject is the last name of a certificate, as its issuer is before it.
        let found = certificate.windows(subject.len()).any(|bytes| bytes == subject);
        assert!(found, "the client's certificate is the first");
    }
    contents
}

#[test]
fn each_cipher_is_decrypted() {
    for (name, bytes) in ENCRYPTED {
        assert_eq!(open(bytes, PASSPHRASE), Ok(expected()), "{name}");
    }
}

#[test]
fn another_passphrase_is_wrong() {
    for (name, bytes) in ENCRYPTED {
        for passphrase in ["", "strasse", "straße", "\0"] {
            assert_eq!(open(bytes, passphrase), Err(Error::WrongPassphrase), "{name}");
        }
    }
}

#[test]
fn what_is_not_encrypted_needs_no_passphrase() {
    assert_eq!(open(PLAIN, PASSPHRASE), open(PLAIN, ""));
}

#[test]
fn lengths_may_be_open_and_strings_in_parts() {
    for (name, bytes) in ENCRYPTED.into_iter().chain([("plain", PLAIN)]) {
        assert_eq!(open(&opened(bytes), PASSPHRASE), Ok(expected()), "{name}");
    }
}

#[test]
fn a_part_of_a_file_is_malformed() {
    for (name, bytes) in ENCRYPTED.into_iter().chain([("plain", PLAIN)]) {
        for end in 8..bytes.len() {
            assert_eq!(open(&bytes[..end], PASSPHRASE), Err(Error::Malformed), "{name}: {end}");
        }
    }
}

#[test]
fn other_files_are_told_apart() {
    for other in [&b""[..], b"x", b"0", b"\x30\x82", &PLAIN[20..], b"-----BEGIN CERTIFICATE-----"] {
        assert_eq!(open(other, ""), Err(Error::NotPkcs12));
    }
    // The certificate of a file.
    assert_eq!(open(&expected().certificates[0], ""), Err(Error::NotPkcs12));
}

#[test]
fn nesting_is_bounded() {
    let mut bytes = vec![0x30, 0x80, 0x02, 0x01, 0x03];
    for _ in 0..1_000_000 {
        bytes.extend([0x30, 0x80]);
    }
    assert_eq!(open(&bytes, ""), Err(Error::Malformed));
}

#[test]
fn what_a_file_may_cost_is_bounded() {
    let pbkdf2 = |iterations: u32| pbes2(&PBKDF2, &[string(b"salt"), integer(iterations)]);
    let scrypt = |cost: u32, lanes: u32| {
        pbes2(&SCRYPT, &[string(b"salt"), integer(cost), integer(8), integer(lanes)])
    };
    let triple_des = |iterations: u32| {
        tlv(0x30, &[tlv(0x06, &[TRIPLE_DES]), tlv(0x30, &[string(b"salt"), integer(iterations)])])
    };
    for (name, algorithm) in [
        ("PBKDF2", pbkdf2(u32::MAX >> 1)),
        ("scrypt: memory", scrypt(1 << 30, 1)),
        ("scrypt: lanes", scrypt(1 << 16, 60_000)),
        ("triple DES", triple_des(i32::MAX as u32)),
    ] {
        assert_eq!(open(&file(&[&algorithm]), ""), Err(Error::TooCostly), "{name}");
    }
    assert_eq!(open(&file(&[&pbkdf2(1)]), ""), Err(Error::WrongPassphrase));
}

#[test]
fn what_needs_a_key_or_an_unknown_algorithm_is_refused() {
    let signed = tlv(0x30, &[tlv(0x06, &[SIGNED_DATA]), tlv(0xa0, &[tlv(0x30, &[[]])])]);
    let whole = tlv(0x30, &[&integer(3)[..], &signed]);
    assert_eq!(open(&whole, ""), Err(Error::NeedsKey));
    let part = tlv(0x30, &[&integer(3)[..], &data(&tlv(0x30, &[signed]))]);
    assert_eq!(open(&part, ""), Err(Error::NeedsKey));
    let rc4 = tlv(0x30, &[tlv(0x06, &[RC4]), tlv(0x30, &[string(b"salt"), integer(1)])]);
    assert!(matches!(open(&file(&[&rc4]), ""), Err(Error::UnknownAlgorithm(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn changed_files_are_opened_or_refused(
        which in 0..ENCRYPTED.len(),
        opens in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let bytes = ENCRYPTED[which].1;
        let mut bytes = if opens { opened(bytes) } else { bytes.to_vec() };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = open(&bytes, PASSPHRASE);
    }

    #[test]
    fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let start = [&[0x30, 0x80, 0x02, 0x01, 0x03, 0x30][..], &bytes].concat();
        prop_assert!(open(&start, "").is_err());
        prop_assert!(open(&bytes, "").is_err());
    }
}

const ID_DATA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01";
const SIGNED_DATA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02";
const ENCRYPTED_DATA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x06";
const PBES2: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d";
const PBKDF2: [u8; 9] = *b"\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0c";
const SCRYPT: [u8; 9] = *b"\x2b\x06\x01\x04\x01\xda\x47\x04\x0b";
const AES_256: &[u8] = b"\x60\x86\x48\x01\x65\x03\x04\x01\x2a";
const TRIPLE_DES: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01\x03";
const RC4: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01\x01";

/// A file with a part for each algorithm, encrypted by it.
fn file(algorithms: &[&[u8]]) -> Vec<u8> {
    let parts: Vec<Vec<u8>> = algorithms
        .iter()
        .map(|algorithm| {
            let encrypted = tlv(0x80, &[[7; 32]]);
            let info = tlv(0x30, &[&tlv(0x06, &[ID_DATA])[..], algorithm, &encrypted]);
            let content = tlv(0x30, &[integer(0), info]);
            tlv(0x30, &[tlv(0x06, &[ENCRYPTED_DATA]), tlv(0xa0, &[content])])
        })
        .collect();
    tlv(0x30, &[integer(3), data(&tlv(0x30, &parts))])
}

fn data(content: &[u8]) -> Vec<u8> {
    tlv(0x30, &[tlv(0x06, &[ID_DATA]), tlv(0xa0, &[string(content)])])
}

fn pbes2(derivation: &[u8], parameters: &[Vec<u8>]) -> Vec<u8> {
    let derivation = tlv(0x30, &[tlv(0x06, &[derivation]), tlv(0x30, parameters)]);
    let cipher = tlv(0x30, &[tlv(0x06, &[AES_256]), string(&[7; 16])]);
    tlv(0x30, &[tlv(0x06, &[PBES2]), tlv(0x30, &[derivation, cipher])])
}

fn string(bytes: &[u8]) -> Vec<u8> {
    tlv(0x04, &[bytes])
}

fn integer(value: u32) -> Vec<u8> {
    // With a zero before it, so that it is not negative, and no more.
    let bytes = [&[0][..], &value.to_be_bytes()].concat();
    let start = bytes.windows(2).position(|two| two[0] != 0 || two[1] >= 0x80).unwrap_or(4);
    tlv(0x02, &[&bytes[start..]])
}

fn tlv(tag: u8, parts: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let content: Vec<u8> = parts.iter().flat_map(|part| part.as_ref()).copied().collect();
    let length = u16::try_from(content.len()).expect("a short value");
    match u8::try_from(length) {
        Ok(length) if length < 0x80 => [&[tag, length][..], &content].concat(),
        Ok(length) => [&[tag, 0x81, length][..], &content].concat(),
        Err(_) => [&[tag, 0x82][..], &length.to_be_bytes(), &content].concat(),
    }
}

/// Writes DER as BER, as a program does that knows the lengths of short values alone: those of long ones are left open,
/// and long strings are in parts.
/// Certificates and keys remain DER.
fn opened(bytes: &[u8]) -> Vec<u8> {
    open_lengths(bytes, true)
}

fn open_lengths(bytes: &[u8], has_parts: bool) -> Vec<u8> {
    let mut written = Vec::new();
    let mut rest = bytes;
    while let [tag, length, after @ ..] = rest {
        let digits = if *length < 0x80 { 0 } else { usize::from(length & 0x7f) };
        let long = after[..digits].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (content, next) =
            after[digits..].split_at(if digits == 0 { (*length).into() } else { long });
        written.extend(match tag {
            tag if content.len() < 100 => tlv(*tag, &[content]),
            0x04 if has_parts && content.starts_with(&[0x30]) => {
                in_parts(0x24, &open_lengths(content, false))
            }
            0x80 => in_parts(0xa0, content),
            tag if tag & 0x20 != 0 => {
                [&[*tag, 0x80][..], &open_lengths(content, has_parts), &[0, 0]].concat()
            }
            tag => tlv(*tag, &[content]),
        });
        rest = next;
    }
    written
}

fn in_parts(tag: u8, content: &[u8]) -> Vec<u8> {
    let parts = content.chunks(100).flat_map(string);
    [tag, 0x80].into_iter().chain(parts).chain([0, 0]).collect()
}
