//! Trains the weighted evidence of `countersign-crisis` and measures it.
//!
//! ```sh
//! cargo run -p crisis-training -- train                    # writes weights.bin and model.toml
//! cargo run -p crisis-training -- check                    # trains and compares with these files
//! cargo run -p crisis-training -- measure [FILE.jsonl …]   # cross-validates; FILEs: only measured
//! cargo run -p crisis-training -- docs                     # tables and plot of docs/crisis.md
//! ```

#![expect(clippy::indexing_slicing, reason = "a tool of developers")]

mod logistic;
mod measure;
mod model;
mod plot;
mod rows;
mod validation;
mod write;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rows::Row;
use write::ModelFiles;

/// The rows that may be learned from. All of them are our own.
const BATCHES: [&str; 4] = ["first", "second", "third", "developer"];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let task = words.next().unwrap_or_default();
    let extra: Vec<PathBuf> = words.map(PathBuf::from).collect();
    let done = match task.as_str() {
        "train" if extra.is_empty() => trained().and_then(|files| files.write(&folder())),
        "check" if extra.is_empty() => trained().and_then(|files| files.compare(&folder())),
        "docs" if extra.is_empty() => docs(),
        "measure" => measure_all(&extra),
        _ => Err("usage: crisis-training train | check | docs | measure [FILE.jsonl …]".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("crisis-training: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the rows and of the model.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/crisis/evidence")
}

fn own_rows() -> Result<Vec<Row>, String> {
    let mut all = Vec::new();
    for batch in BATCHES {
        all.extend(rows::read(&folder().join(format!("rows/{batch}.jsonl")))?);
    }
    let lines = folder().join("../tests/crisis");
    let list = std::fs::read_dir(&lines).map_err(|e| format!("{}: {e}", lines.display()))?;
    let mut files: Vec<PathBuf> = list.filter_map(|file| Some(file.ok()?.path())).collect();
    files.sort();
    for file in files {
        all.extend(rows::read_lines(&file)?);
    }
    rows::keep_twins_together(&mut all);
    Ok(all)
}

fn trained() -> Result<ModelFiles, String> {
    let rows = own_rows()?;
    println!("{} rows: thresholds by cross-validation, then all rows …", rows.len());
    let all: Vec<&Row> = rows.iter().collect();
    Ok(validation::trained(&all).files())
}

/// Writes the tables of `docs/crisis.md` and its picture.
fn docs() -> Result<(), String> {
    let rows = own_rows()?;
    let measured = validation::nested(&rows);
    let others = validation::across_batches(&rows);
    let tables = measure::tables(&rows, &measured, &others);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let picture = plot::picture(&measure::curves(&rows, &measured));
    let failed = |error: std::io::Error| error.to_string();
    std::fs::write(docs.join("pictures/crisis-trade-off.svg"), picture).map_err(failed)?;
    let page = docs.join("crisis.md");
    let text = std::fs::read_to_string(&page).map_err(failed)?;
    let parts = text.split_once(BEGIN).zip(text.split_once(END));
    let ((before, _), (_, after)) = parts.ok_or("docs/crisis.md has no place for the tables")?;
    let text = format!("{before}{BEGIN}\n\n{tables}\n{END}{after}");
    std::fs::write(page, text).map_err(failed)?;
    measure::bars(&rows, &measured)
}

/// Around the tables in `docs/crisis.md`.
const BEGIN: &str = "<!-- written by crisis-training docs -->";
const END: &str = "<!-- end of what crisis-training wrote -->";

fn measure_all(extra: &[PathBuf]) -> Result<(), String> {
    let rows = own_rows()?;
    if !extra.is_empty() {
        let all: Vec<&Row> = rows.iter().collect();
        let model = validation::trained(&all);
        for file in extra {
            let other = rows::read(file)?;
            let measured: Vec<_> =
                other.iter().map(|row| validation::measured(&model, row)).collect();
            println!("\n{} (trained on all own rows)", file.display());
            measure::report(&other, &measured);
        }
    }
    let measured = validation::nested(&rows);
    measure::report(&rows, &measured);
    measure::report_other(&validation::across_batches(&rows));
    measure::bars(&rows, &measured)
}
