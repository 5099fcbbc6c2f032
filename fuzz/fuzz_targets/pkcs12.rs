//! Files of certificates and keys: any bytes are opened or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = millrace_pkcs12::open(bytes, "secret");
});
