//! The structure of a file (RFC 7292, section 4), as far as it is read. Browsers write BER: they leave the length of long
//! values open, so that all of it is decoded in place.

use cms::encrypted_data::EncryptedData;
use der::asn1::{ContextSpecific, ObjectIdentifier, OctetString};
use der::{Any, AnyRef, Decode, DecodeValue, Encode, Reader, Result, Tag, TagNumber, Tagged};
use pkcs12::pbe_params::EncryptedPrivateKeyInfo;
use pkcs12::{
    CertBag, PKCS_12_CERT_BAG_OID, PKCS_12_KEY_BAG_OID, PKCS_12_PKCS8_KEY_BAG_OID,
    PKCS_12_X509_CERT_OID,
};

use crate::Error;

/// `id-data` and `id-encryptedData` (RFC 5652, sections 4 and 8).
const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const ENCRYPTED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.6");

/// The first bytes of a file, after its tag and length: version 3, and a sequence.
const VERSION_3: &[u8] = &[0x02, 0x01, 0x03, 0x30];

/// A whole file.
pub(crate) struct Pfx {
    pub(crate) safe: SafePart,
}

/// A ContentInfo with bags.
pub(crate) enum SafePart {
    Data(OctetString),
    Encrypted(Box<EncryptedData>),
    /// Signed or encrypted by a key.
    Other,
}

/// A SafeBag.
pub(crate) enum Bag {
    /// PKCS #8 in DER.
    Key(Vec<u8>),
    EncryptedKey(Box<EncryptedPrivateKeyInfo>),
    /// X.509 in DER.
    Certificate(Vec<u8>),
    /// A revocation list, a secret, or what is not known.
    Other,
}

impl<'a> Decode<'a> for Pfx {
    type Error = der::Error;

    fn decode<R: Reader<'a>>(reader: &mut R) -> Result<Self> {
        reader.sequence(|reader| {
            if u8::decode(reader)? != 3 {
                return Err(Tag::Integer.value_error().into());
            }
            let safe = SafePart::decode(reader)?;
            // The message authentication code.
            Option::<Any>::decode(reader)?;
            Ok(Self { safe })
        })
    }
}

impl<'a> Decode<'a> for SafePart {
    type Error = der::Error;

    fn decode<R: Reader<'a>>(reader: &mut R) -> Result<Self> {
        reader.sequence(|reader| match ObjectIdentifier::decode(reader)? {
            DATA => Ok(Self::Data(decode_explicit(reader)?)),
            ENCRYPTED_DATA => Ok(Self::Encrypted(Box::new(decode_explicit(reader)?))),
            _ => Any::decode(reader).map(|_| Self::Other),
        })
    }
}

impl<'a> Decode<'a> for Bag {
    type Error = der::Error;

    fn decode<R: Reader<'a>>(reader: &mut R) -> Result<Self> {
        reader.sequence(|reader| {
            let bag = match ObjectIdentifier::decode(reader)? {
                PKCS_12_KEY_BAG_OID => Self::Key(decode_explicit::<Any, R>(reader)?.to_der()?),
                PKCS_12_PKCS8_KEY_BAG_OID => Self::EncryptedKey(Box::new(decode_explicit(reader)?)),
                PKCS_12_CERT_BAG_OID => {
                    let CertBag { cert_id, cert_value } = decode_explicit(reader)?;
                    let is_x509 = cert_id == PKCS_12_X509_CERT_OID;
                    if is_x509 {
                        Self::Certificate(cert_value.as_bytes().to_vec())
                    } else {
                        Self::Other
                    }
                }
                _ => Any::decode(reader).map(|_| Self::Other)?,
            };
            // Attributes, whose order is not always that of DER.
            Option::<Any>::decode(reader)?;
            Ok(bag)
        })
    }
}

/// Decodes a value that is tagged explicitly with 0.
fn decode_explicit<'a, T, R>(reader: &mut R) -> Result<T>
where
    T: DecodeValue<'a, Error = der::Error> + Tagged + Decode<'a, Error = der::Error>,
    R: Reader<'a>,
{
    let tagged = ContextSpecific::<T>::decode_explicit(reader, TagNumber(0))?;
    Ok(tagged.ok_or_else(|| Tag::Null.value_error())?.value)
}

/// Whether bytes are one sequence, such as a private key in PKCS #8.
pub(crate) fn is_sequence(bytes: &[u8]) -> bool {
    AnyRef::from_der(bytes).is_ok_and(|any| any.tag() == Tag::Sequence)
}

/// Tells a file that is damaged from one of another kind.
pub(crate) fn classify(bytes: &[u8]) -> Error {
    let content = match bytes {
        [0x30, length, content @ ..] if *length <= 0x80 => content,
        [0x30, length, content @ ..] => content.get(usize::from(length & 0x7f)..).unwrap_or(&[]),
        _ => &[],
    };
    if content.starts_with(VERSION_3) { Error::Malformed } else { Error::NotPkcs12 }
}
