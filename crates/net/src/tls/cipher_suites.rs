//! The suites of TLS 1.3: aws-lc-rs's, but for the key schedule (RFC 8446, section 7.1).
//!
//! The HKDF of aws-lc-rs extracts anew for each expansion and hashes the key anew for each use: a quarter of what a
//! resumed handshake hashes. Here a key is hashed once.

use std::marker::PhantomData;
use std::sync::Once;
use std::thread;

use hmac::digest::OutputSizeUser as _;
use hmac::{EagerHash, Hmac, KeyInit as _, Mac as _};
use rustls::crypto::aws_lc_rs::{self, cipher_suite as theirs};
use rustls::crypto::tls13::{Hkdf, HkdfUsingHmac};
use rustls::crypto::{self, CipherSuiteCommon, CryptoProvider};
use rustls::{SupportedCipherSuite, Tls13CipherSuite};
use sha2::{Sha256, Sha384};

static HKDF_SHA256: HkdfUsingHmac<'_> = HkdfUsingHmac(&PrecomputedHmac::<Sha256>(PhantomData));
static HKDF_SHA384: HkdfUsingHmac<'_> = HkdfUsingHmac(&PrecomputedHmac::<Sha384>(PhantomData));

static SUITES: [Tls13CipherSuite; 3] = [
    with(&theirs::TLS13_AES_256_GCM_SHA384, &HKDF_SHA384),
    with(&theirs::TLS13_AES_128_GCM_SHA256, &HKDF_SHA256),
    with(&theirs::TLS13_CHACHA20_POLY1305_SHA256, &HKDF_SHA256),
];

const fn with(theirs: &SupportedCipherSuite, hkdf_provider: &'static dyn Hkdf) -> Tls13CipherSuite {
    let SupportedCipherSuite::Tls13(suite) = theirs else { panic!("a suite of TLS 1.3") };
    let CipherSuiteCommon { suite: number, hash_provider, confidentiality_limit } = suite.common;
    Tls13CipherSuite {
        common: CipherSuiteCommon { suite: number, hash_provider, confidentiality_limit },
        hkdf_provider,
        aead_alg: suite.aead_alg,
        quic: None,
    }
}

/// That of aws-lc-rs, with these suites in place of its own.
pub(crate) fn provider() -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    for suite in &mut provider.cipher_suites {
        if let Some(ours) = SUITES.iter().find(|ours| ours.common.suite == suite.suite()) {
            *suite = SupportedCipherSuite::Tls13(ours);
        }
    }
    provider
}

/// Seeds the process's random numbers on a thread of its own, once: a first handshake would wait for them for tens of
/// milliseconds. Where there is no thread it does.
pub fn seed_random() {
    static SEEDED: Once = Once::new();
    SEEDED.call_once(|| {
        let seed = || drop(aws_lc_rs::default_provider().secure_random.fill(&mut [0; 32]));
        drop(thread::Builder::new().name("seed".into()).spawn(seed));
    });
}

/// HMAC whose keys keep what hashing them has come to.
struct PrecomputedHmac<D>(PhantomData<D>);

struct Key<D: EagerHash>(Hmac<D>);

impl<D: EagerHash<Core: Send + Sync> + Send + Sync + 'static> crypto::hmac::Hmac
    for PrecomputedHmac<D>
{
    fn with_key(&self, key: &[u8]) -> Box<dyn crypto::hmac::Key> {
        Box::new(Key(Hmac::<D>::new_from_slice(key).expect("HMAC takes keys of any length")))
    }

    fn hash_output_len(&self) -> usize {
        Hmac::<D>::output_size()
    }
}

impl<D: EagerHash<Core: Send + Sync>> crypto::hmac::Key for Key<D> {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> crypto::hmac::Tag {
        let mut mac = self.0.clone();
        mac.update(first);
        middle.iter().for_each(|part| mac.update(part));
        mac.update(last);
        crypto::hmac::Tag::new(&mac.finalize().into_bytes())
    }

    fn tag_len(&self) -> usize {
        Hmac::<D>::output_size()
    }
}

#[cfg(test)]
mod tests {
    use rustls::crypto::tls13::{HkdfExpander, OkmBlock};

    use super::*;

    fn tls13(suite: SupportedCipherSuite) -> &'static Tls13CipherSuite {
        suite.tls13().expect("a suite of TLS 1.3")
    }

    /// What an expander gives: a block, less than one, and several.
    fn expanded(expander: &dyn HkdfExpander) -> Vec<Vec<u8>> {
        let info: &[&[u8]] = &[b"one", b"", b"two"];
        let mut all = vec![expander.expand_block(info).as_ref().to_vec()];
        for length in [12, 200] {
            let mut output = vec![0; length];
            expander.expand_slice(info, &mut output).expect("not too long");
            all.push(output);
        }
        all
    }

    #[test]
    fn every_derivation_is_what_aws_lc_makes_of_it() {
        let all = [
            theirs::TLS13_AES_256_GCM_SHA384,
            theirs::TLS13_AES_128_GCM_SHA256,
            theirs::TLS13_CHACHA20_POLY1305_SHA256,
        ];
        for (theirs, ours) in all.map(tls13).into_iter().zip(&SUITES) {
            assert_eq!(theirs.common.suite, ours.common.suite);
            let [theirs, ours] = [theirs, ours].map(|suite| suite.hkdf_provider);
            let salt: Vec<u8> = (0..48).collect();
            for salt in [None, Some(&salt[..])] {
                let secret = [7; 32];
                assert_eq!(
                    expanded(&*theirs.extract_from_secret(salt, &secret)),
                    expanded(&*ours.extract_from_secret(salt, &secret)),
                );
                assert_eq!(
                    expanded(&*theirs.extract_from_zero_ikm(salt)),
                    expanded(&*ours.extract_from_zero_ikm(salt)),
                );
            }
            let key = OkmBlock::new(&salt);
            assert_eq!(
                expanded(&*theirs.expander_for_okm(&key)),
                expanded(&*ours.expander_for_okm(&key)),
            );
            assert_eq!(
                theirs.hmac_sign(&key, b"message").as_ref(),
                ours.hmac_sign(&key, b"message").as_ref(),
            );
        }
    }

    #[test]
    fn the_provider_keeps_the_suites_and_their_order() {
        let numbers = |provider: CryptoProvider| -> Vec<_> {
            provider.cipher_suites.iter().map(SupportedCipherSuite::suite).collect()
        };
        assert_eq!(numbers(provider()), numbers(aws_lc_rs::default_provider()));
        let replaced = |suite: &&SupportedCipherSuite| matches!(suite, SupportedCipherSuite::Tls13(one) if SUITES.iter().any(|s| std::ptr::eq(s, *one)));
        assert_eq!(provider().cipher_suites.iter().filter(replaced).count(), SUITES.len());
    }
}
