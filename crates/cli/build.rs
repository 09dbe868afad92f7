//! Links the binary at a fixed address, so that nothing is relocated when it starts.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The rules are static tables full of pointers. In a position-independent executable the
    // loader patches each of them at every start: half as long again as an empty program.
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let gnu = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    if linux && gnu {
        println!("cargo::rustc-link-arg-bin=countersign=-no-pie");
    }
}
