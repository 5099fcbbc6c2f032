//! Encryption by a passphrase: PBES2 (RFC 8018), and the older schemes of PKCS #12 itself (RFC 7292, appendix C).

use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockCipherDecrypt, BlockModeDecrypt, KeyInit, KeyIvInit};
use cms::cert::x509::spki::AlgorithmIdentifierOwned;
use der::EncodingRules;
use der::asn1::ObjectIdentifier;
use pkcs5::pbes2::{self, Kdf, PBES2_OID};
use pkcs12::kdf::{Pkcs12KeyType, derive_key};
use pkcs12::pbe_params::Pkcs12PbeParams;

use crate::Error;

/// Maximum number of iterations of a file, all of its key derivations together: some seconds. Programs use 2048 to
/// a million.
pub const MAX_ITERATIONS: u32 = 10_000_000;
/// Maximum memory of a derivation by scrypt; OpenSSL uses 16 MiB.
pub const MAX_SCRYPT_BYTES: u64 = 64 * 1024 * 1024;
/// What scrypt fills in about the time of an iteration.
const SCRYPT_BYTES_PER_ITERATION: u64 = 64;

const TRIPLE_DES: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.1.3");
const TWO_KEY_DES: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.1.4");
const RC2_128: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.1.5");
const RC2_40: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.1.6");

/// Length of an initialization vector of these ciphers: that of their block.
const IV_BYTES: usize = 8;

/// Decrypts by a passphrase, as long as it does not cost too much.
pub(crate) struct Decryption<'a> {
    passphrase: &'a str,
    iterations_left: u32,
}

impl<'a> Decryption<'a> {
    pub(crate) fn new(passphrase: &'a str) -> Self {
        Self { passphrase, iterations_left: MAX_ITERATIONS }
    }

    pub(crate) fn decrypt(
        &mut self,
        algorithm: &AlgorithmIdentifierOwned,
        encrypted: &[u8],
    ) -> Result<Vec<u8>, Error> {
        match algorithm.oid {
            PBES2_OID => self.decrypt_pbes2(algorithm, encrypted),
            TRIPLE_DES => self.decrypt_pkcs12::<des::TdesEde3>(24, algorithm, encrypted),
            TWO_KEY_DES => self.decrypt_pkcs12::<des::TdesEde2>(16, algorithm, encrypted),
            RC2_128 => self.decrypt_pkcs12::<rc2::Rc2>(16, algorithm, encrypted),
            RC2_40 => self.decrypt_pkcs12::<rc2::Rc2>(5, algorithm, encrypted),
            other => Err(Error::UnknownAlgorithm(other)),
        }
    }

    fn decrypt_pbes2(
        &mut self,
        algorithm: &AlgorithmIdentifierOwned,
        encrypted: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let parameters = algorithm.parameters.as_ref().ok_or(Error::Malformed)?;
        let parameters: pbes2::Parameters = parameters
            .decode_as_encoding(EncodingRules::Ber)
            .map_err(|_| Error::UnknownAlgorithm(algorithm.oid))?;
        match &parameters.kdf {
            Kdf::Pbkdf2(pbkdf2) => self.spend(pbkdf2.iteration_count)?,
            Kdf::Scrypt(scrypt) => self.spend_scrypt(scrypt)?,
            other => return Err(Error::UnknownAlgorithm(other.oid())),
        }
        parameters.decrypt(self.passphrase, encrypted).map_err(|error| match error {
            pkcs5::Error::UnsupportedAlgorithm { oid } => Error::UnknownAlgorithm(oid),
            pkcs5::Error::AlgorithmParametersInvalid { .. } => Error::Malformed,
            _ => Error::WrongPassphrase,
        })
    }

    fn decrypt_pkcs12<Cipher>(
        &mut self,
        key_bytes: usize,
        algorithm: &AlgorithmIdentifierOwned,
        encrypted: &[u8],
    ) -> Result<Vec<u8>, Error>
    where
        Cipher: BlockCipherDecrypt + KeyInit,
    {
        let parameters = algorithm.parameters.as_ref().ok_or(Error::Malformed)?;
        let Pkcs12PbeParams { salt, iterations } =
            parameters.decode_as_encoding(EncodingRules::Ber)?;
        // Key and initialization vector, of up to two blocks each.
        self.spend(u32::try_from(iterations).map_err(|_| Error::Malformed)?.saturating_mul(3))?;
        // Appendix B.1: UTF-16, the end included.
        let text = self.passphrase.encode_utf16().chain([0]);
        let password: Vec<u8> = text.flat_map(u16::to_be_bytes).collect();
        let derive = |purpose, bytes| {
            derive_key::<sha1::Sha1>(&password, salt.as_bytes(), purpose, iterations, bytes)
        };
        let key = derive(Pkcs12KeyType::EncryptionKey, key_bytes);
        let iv = derive(Pkcs12KeyType::Iv, IV_BYTES);
        let cipher = cbc::Decryptor::<Cipher>::new_from_slices(&key, &iv)
            .map_err(|_| Error::UnknownAlgorithm(algorithm.oid))?;
        cipher.decrypt_padded_vec::<Pkcs7>(encrypted).map_err(|_| Error::WrongPassphrase)
    }

    fn spend(&mut self, iterations: u32) -> Result<(), Error> {
        self.iterations_left =
            self.iterations_left.checked_sub(iterations).ok_or(Error::TooCostly)?;
        Ok(())
    }

    fn spend_scrypt(&mut self, scrypt: &pbes2::ScryptParams) -> Result<(), Error> {
        let bytes = scrypt
            .cost_parameter
            .checked_mul(u64::from(scrypt.block_size))
            .and_then(|blocks| blocks.checked_mul(128))
            .filter(|bytes| *bytes <= MAX_SCRYPT_BYTES)
            .ok_or(Error::TooCostly)?;
        let passed = bytes * u64::from(scrypt.parallelization);
        self.spend(u32::try_from(passed / SCRYPT_BYTES_PER_ITERATION).unwrap_or(u32::MAX))
    }
}
