//! Opens PKCS #12 (RFC 7292) as browsers, OpenSSL and key stores write it: certificates and private keys, encrypted by a
//! passphrase. Bytes in, DER out; a file is an error or its contents, never a panic, and what it can cost is bounded.
//!
//! - [`open`]: a file's certificates and keys
//! - `structure`: how a file is built
//! - `encryption`: its algorithms, and what they may cost
//!
//! The message authentication code is not checked. A wrong passphrase shows when something is decrypted with it, and a file
//! that others may write is no safer with a code than PEM is without; but certificates that are not encrypted can be read
//! without the passphrase.

#![forbid(unsafe_code)]

mod encryption;
mod structure;

use std::fmt;

use der::Decode;
use der::asn1::ObjectIdentifier;

use encryption::Decryption;
use structure::{Bag, Pfx, SafePart, classify, is_sequence};

/// What a file contains, in its order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// X.509 certificates in DER.
    pub certificates: Vec<Vec<u8>>,
    /// Private keys in DER (PKCS #8), not encrypted.
    pub keys: Vec<Vec<u8>>,
}

/// Why a file cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes are not version 3 of PKCS #12.
    NotPkcs12,
    /// It is PKCS #12, but truncated or damaged.
    Malformed,
    /// Something is encrypted, by another passphrase.
    WrongPassphrase,
    /// It is signed, or encrypted, by a key in place of a passphrase.
    NeedsKey,
    /// Something is encrypted by an algorithm that is not known, or no longer in use.
    UnknownAlgorithm(ObjectIdentifier),
    /// Deriving its keys would cost more than [`MAX_ITERATIONS`] or [`MAX_SCRYPT_BYTES`].
    TooCostly,
}

pub use encryption::{MAX_ITERATIONS, MAX_SCRYPT_BYTES};

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPkcs12 => f.write_str("it is not PKCS #12"),
            Self::Malformed => f.write_str("it is truncated or damaged"),
            Self::WrongPassphrase => f.write_str("the passphrase is wrong"),
            Self::NeedsKey => f.write_str(
                "it is protected by a key in place of a passphrase, which is not supported",
            ),
            Self::UnknownAlgorithm(oid) => {
                write!(f, "it is encrypted by an algorithm that is not supported ({oid})")
            }
            Self::TooCostly => write!(
                f,
                "its key derivation costs too much (more than {MAX_ITERATIONS} iterations, or {} MiB)",
                MAX_SCRYPT_BYTES / 1024 / 1024
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<der::Error> for Error {
    fn from(_: der::Error) -> Self {
        Self::Malformed
    }
}

/// Opens a file.
///
/// # Errors
///
/// See [`Error`]. Without anything encrypted, any passphrase will do.
pub fn open(bytes: &[u8], passphrase: &str) -> Result<Contents, Error> {
    let pfx = Pfx::from_ber(bytes).map_err(|_| classify(bytes))?;
    let SafePart::Data(safe) = pfx.safe else { return Err(Error::NeedsKey) };
    let mut contents = Contents::default();
    let mut decryption = Decryption::new(passphrase);
    for part in Vec::<SafePart>::from_ber(safe.as_bytes())? {
        let bags = match part {
            SafePart::Data(bags) => Vec::<Bag>::from_ber(bags.as_bytes())?,
            SafePart::Encrypted(encrypted) => {
                let info = encrypted.enc_content_info;
                let bytes = info.encrypted_content.ok_or(Error::Malformed)?;
                let bags = decryption.decrypt(&info.content_enc_alg, bytes.as_bytes())?;
                // A wrong key may leave a valid padding by chance.
                Vec::<Bag>::from_ber(&bags).map_err(|_| Error::WrongPassphrase)?
            }
            SafePart::Other => return Err(Error::NeedsKey),
        };
        for bag in bags {
            contents.add(bag, &mut decryption)?;
        }
    }
    Ok(contents)
}

impl Contents {
    fn add(&mut self, bag: Bag, decryption: &mut Decryption<'_>) -> Result<(), Error> {
        match bag {
            Bag::Key(key) => self.keys.push(key),
            Bag::EncryptedKey(key) => {
                let bytes = key.encrypted_data.as_bytes();
                let key = decryption.decrypt(&key.encryption_algorithm, bytes)?;
                if !is_sequence(&key) {
                    return Err(Error::WrongPassphrase);
                }
                self.keys.push(key);
            }
            Bag::Certificate(certificate) => self.certificates.push(certificate),
            Bag::Other => {}
        }
        Ok(())
    }
}
