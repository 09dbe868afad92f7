//! Links the binaries at a fixed address, so that nothing is relocated when they start.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The rules are static tables full of pointers. In a position-independent executable the
    // loader patches each of them at every start: half as long again as an empty program.
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let gnu = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    if linux && gnu {
        for bin in ["countersign", "countersign-hook"] {
            println!("cargo::rustc-link-arg-bin={bin}=-no-pie");
        }
    }
}
