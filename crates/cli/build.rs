//! Links the binaries so that the loader has little to do when they start.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let gnu = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    if !linux || !gnu {
        return;
    }
    // The rules are static tables full of pointers. In a position-independent executable the
    // loader patches each of them at every start: half as long again as an empty program.
    for bin in ["countersign", "countersign-hook"] {
        println!("cargo::rustc-link-arg-bin={bin}=-no-pie");
    }
    // The library that unwinds panics, as part of the program: loading it at every start would take
    // a tenth of the time of an empty program.
    if has_static_unwinder() {
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// Whether the C compiler that links has the static library. A cross compiler is not asked.
fn has_static_unwinder() -> bool {
    if std::env::var("HOST") != std::env::var("TARGET") {
        return false;
    }
    let found = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    found.is_ok_and(|found| {
        let path = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        Path::new(&path).is_absolute() && Path::new(&path).exists()
    })
}
