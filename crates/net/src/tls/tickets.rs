//! Session tickets of a server, as stateless as OpenSSL's: whoever has the keys can take them back.

use std::cell::Cell;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hmac;
use rustls::pki_types::UnixTime;
use rustls::server::ProducesTickets;

thread_local! {
    static ALLOWED: Cell<u32> = const { Cell::new(0) };
}

/// Tickets that this thread may issue from now on. A configuration of rustls has one number for all handshakes.
pub(crate) fn allow(count: u32) {
    ALLOWED.set(count);
}

/// Bytes of ticket keys, as Node.js has them.
pub const KEY_BYTES: usize = 48;
const SALT: usize = 32;
const TIME: usize = 8;

/// Seals and opens tickets: `salt || AES-256-GCM(time || session)`. Each ticket has a key of its own,
/// HMAC-SHA-256 of the salt, so that no nonce is ever used twice however many there are.
pub(crate) struct TicketCipher {
    master: hmac::Key,
    lifetime: u32,
}

impl std::fmt::Debug for TicketCipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tickets").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

impl TicketCipher {
    /// Servers with the same keys and the same `context` take each other's tickets, for `lifetime` seconds.
    pub(crate) fn new(keys: &[u8; KEY_BYTES], context: &[u8], lifetime: u32) -> Self {
        let outer = hmac::Key::new(hmac::HMAC_SHA256, keys);
        let derived = hmac::sign(&outer, &[b"millrace tickets 1\0", context].concat());
        Self { master: hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()), lifetime }
    }

    fn key(&self, salt: &[u8]) -> Option<LessSafeKey> {
        let key = hmac::sign(&self.master, salt);
        Some(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_ref()).ok()?))
    }
}

fn nonce() -> Nonce {
    // The key is the ticket's own and seals once.
    Nonce::assume_unique_for_key([0; 12])
}

impl ProducesTickets for TicketCipher {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.lifetime
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let allowed = ALLOWED.get();
        ALLOWED.set(allowed.checked_sub(1)?);
        let mut salt = [0; SALT];
        aws_lc_rs::rand::fill(&mut salt).ok()?;
        let mut sealed = Vec::with_capacity(SALT + TIME + plain.len() + AES_256_GCM.tag_len());
        sealed.extend_from_slice(&salt);
        sealed.extend_from_slice(&UnixTime::now().as_secs().to_be_bytes());
        sealed.extend_from_slice(plain);
        let body = &mut sealed[SALT..];
        let tag = self.key(&salt)?.seal_in_place_separate_tag(nonce(), Aad::empty(), body).ok()?;
        sealed.extend_from_slice(tag.as_ref());
        Some(sealed)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let (salt, sealed) = cipher.split_at_checked(SALT)?;
        let mut sealed = sealed.to_vec();
        let opened = self.key(salt)?.open_in_place(nonce(), Aad::empty(), &mut sealed).ok()?;
        let (time, plain) = opened.split_first_chunk::<TIME>()?;
        let age = UnixTime::now().as_secs().checked_sub(u64::from_be_bytes(*time))?;
        (age <= u64::from(self.lifetime)).then(|| plain.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_taken_back_by_the_same_keys_and_context_alone() {
        let tickets = TicketCipher::new(&[1; KEY_BYTES], b"a", 300);
        allow(1);
        let ticket = tickets.encrypt(b"session").expect("sealed");
        assert_eq!(tickets.encrypt(b"one more than allowed"), None);
        let again = TicketCipher::new(&[1; KEY_BYTES], b"a", 300);
        assert_eq!(again.decrypt(&ticket).as_deref(), Some(&b"session"[..]));
        assert_eq!(TicketCipher::new(&[2; KEY_BYTES], b"a", 300).decrypt(&ticket), None);
        assert_eq!(TicketCipher::new(&[1; KEY_BYTES], b"b", 300).decrypt(&ticket), None);
    }

    #[test]
    fn a_changed_or_cut_ticket_is_none() {
        let tickets = TicketCipher::new(&[1; KEY_BYTES], b"", 300);
        allow(1);
        let ticket = tickets.encrypt(b"session").expect("sealed");
        assert_eq!(tickets.encrypt(b"one more than allowed"), None);
        for at in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[at] ^= 1;
            assert_eq!(tickets.decrypt(&changed), None);
            assert_eq!(tickets.decrypt(&ticket[..at]), None);
        }
    }
}
