//! Compiles the stack with `cfg(simulated)`: it lets the driver look inside.

fn main() {
    println!("cargo:rustc-cfg=simulated");
    println!("cargo:rerun-if-changed=build.rs");
}
