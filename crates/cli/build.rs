//! Links the binaries so that they are small and the loader has little to do when they start.

use std::env;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Keeps one of several functions with the same machine code, as generic code has many.
const FOLD: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    if !linux || !gnu {
        return;
    }
    let folds = env::var("PROFILE").is_ok_and(|profile| profile == "release") && links_with(FOLD);
    // The rules are static tables full of pointers. In a position-independent executable the
    // loader patches each of them at every start: half as long again as an empty program.
    for bin in ["countersign", "countersign-hook"] {
        println!("cargo::rustc-link-arg-bin={bin}=-no-pie");
        if folds {
            println!("cargo::rustc-link-arg-bin={bin}={FOLD}");
        }
    }
    // The library that unwinds panics, as part of the program: loading it at every start would take
    // a tenth of the time of an empty program.
    if has_static_unwinder() {
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// Whether the linker knows the argument: LLVM's and mold do, GNU's does not.
fn links_with(argument: &str) -> bool {
    let program = || {
        let out = Path::new(&env::var_os("OUT_DIR")?).join("linked");
        let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
        let mut compiler = Command::new(env::var_os("RUSTC")?)
            .args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()))
            .args(["--target", &env::var("TARGET").ok()?, "-", "-o"])
            .arg(out)
            .args(["-C", &format!("link-arg={argument}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        compiler.stdin.take()?.write_all(b"fn main() {}").ok()?;
        Some(compiler.wait().ok()?.success())
    };
    program().unwrap_or(false)
}

/// Whether the C compiler that links has the static library. A cross compiler is not asked.
fn has_static_unwinder() -> bool {
    if env::var("HOST") != env::var("TARGET") {
        return false;
    }
    let found = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    found.is_ok_and(|found| {
        let path = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        Path::new(&path).is_absolute() && Path::new(&path).exists()
    })
}
