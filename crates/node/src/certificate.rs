use napi::bindgen_prelude::Buffer;
use napi::{Error, Result};
use napi_derive::napi;

use crate::ffi::node_api::List;
use crate::ffi::shared_memory::Bytes;

/// A certificate with its key, both PEM.
#[napi(object)]
pub struct NativeCertificate {
    /// The certificate.
    pub cert: String,
    /// Its private key.
    pub key: String,
}

/// A self-signed certificate for these host names and addresses (ECDSA P-256), made on the spot.
#[napi]
pub fn self_signed_certificate(
    #[napi(ts_arg_type = "Array<string>")] names: List<String>,
) -> Result<NativeCertificate> {
    let certified = rcgen::generate_simple_self_signed(names.0)
        .map_err(|error| Error::from_reason(error.to_string()))?;
    Ok(NativeCertificate { cert: certified.cert.pem(), key: certified.signing_key.serialize_pem() })
}

/// What a PKCS #12 file contains.
#[napi(object)]
pub struct NativePkcs12 {
    /// X.509 certificates in DER.
    pub certificates: Vec<Buffer>,
    /// Private keys in DER (PKCS #8), not encrypted.
    pub keys: Vec<Buffer>,
}

/// Opens a PKCS #12 file; throws an error whose `code` says why it cannot.
#[napi]
pub fn open_pkcs12(
    #[napi(ts_arg_type = "Uint8Array")] bytes: Bytes,
    passphrase: String,
) -> Result<NativePkcs12, &'static str> {
    let contents = millrace_pkcs12::open(&bytes.0, &passphrase)
        .map_err(|error| Error::new(code(error), error.to_string()))?;
    let buffers = |all: Vec<Vec<u8>>| all.into_iter().map(Buffer::from).collect();
    Ok(NativePkcs12 { certificates: buffers(contents.certificates), keys: buffers(contents.keys) })
}

fn code(error: millrace_pkcs12::Error) -> &'static str {
    match error {
        millrace_pkcs12::Error::NotPkcs12 => "not-pkcs12",
        millrace_pkcs12::Error::Malformed => "malformed",
        millrace_pkcs12::Error::WrongPassphrase => "wrong-passphrase",
        millrace_pkcs12::Error::NeedsKey => "needs-key",
        millrace_pkcs12::Error::UnknownAlgorithm(_) => "unknown-algorithm",
        millrace_pkcs12::Error::TooCostly => "too-costly",
    }
}
