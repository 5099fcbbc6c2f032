use napi::{Error, Result};
use napi_derive::napi;

use crate::ffi::node_api::List;

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
