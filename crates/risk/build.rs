//! Turns the rule files into static tables, so that nothing is parsed when the program starts.

use std::path::PathBuf;

#[path = "build/brief.rs"]
mod brief;
#[path = "build/calls.rs"]
mod calls;
#[path = "build/code.rs"]
mod code;
#[path = "build/commands.rs"]
mod commands;
#[path = "build/effects.rs"]
mod effects;
#[path = "build/examples.rs"]
mod examples;
#[path = "build/fingerprint.rs"]
mod fingerprint;
#[path = "build/headline.rs"]
mod headline;
#[path = "build/injection.rs"]
mod injection;
#[path = "build/outputs.rs"]
mod outputs;
#[path = "build/structure.rs"]
mod structure;
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
    let mut shown = commands::generate(&rules.join("commands"), &out)?;
    words::generate(&rules.join("words.txt"), &out)?;
    shown.push(tools::generate(&rules.join("tools"), &out)?);
    calls::generate(&rules.join("calls.toml"), &out)?;
    shown.extend(code::generate(&rules.join("code"), &out)?);
    shown.push(injection::generate(&rules.join("injection.toml"), &out)?);
    shown.push(structure::generate(&rules.join("structure.toml"), &out)?);
    examples::write(&shown, &out)?;
    headline::generate(&rules.join("headlines.toml"), &out)?;
    brief::generate(&rules.join("brief.toml"), &out)
}
