//! Turns the rule files into static tables, so that nothing is parsed when the program starts.

use std::path::PathBuf;

#[path = "build/brief.rs"]
mod brief;
#[path = "build/code.rs"]
mod code;
#[path = "build/commands.rs"]
mod commands;
#[path = "build/effects.rs"]
mod effects;
#[path = "build/fingerprint.rs"]
mod fingerprint;
#[path = "build/injection.rs"]
mod injection;
#[path = "build/tools.rs"]
mod tools;
#[path = "build/words.rs"]
mod words;

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=rules");
    println!("cargo::rerun-if-changed=build");
    let rules = PathBuf::from("rules");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    fingerprint::generate(&rules, &out)?;
    commands::generate(&rules.join("commands"), &out)?;
    words::generate(&rules.join("words.txt"), &out)?;
    tools::generate(&rules.join("tools"), &out)?;
    code::generate(&rules.join("code"), &out)?;
    injection::generate(&rules.join("injection.toml"), &out)?;
    brief::generate(&rules.join("brief.toml"), &out)
}
