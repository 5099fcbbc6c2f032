//! Lets the addon find Node-API at link time.

fn main() {
    napi_build::setup();
}
