//! Trains the weighted evidence of `countersign-crisis` and measures it.
//!
//! ```sh
//! cargo run -p crisis-training -- train                    # writes weights.bin and model.toml
//! cargo run -p crisis-training -- measure [FILE.jsonl …]   # cross-validates; FILEs: only measured
//! ```

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a tool of developers")]

mod logistic;
mod measure;
mod model;
mod rows;
mod write;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rows::Row;

/// The rows that may be learned from. All of them are our own.
const BATCHES: [&str; 4] = ["first", "second", "third", "developer"];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let task = words.next().unwrap_or_default();
    let extra: Vec<PathBuf> = words.map(PathBuf::from).collect();
    let done = match task.as_str() {
        "train" if extra.is_empty() => train(),
        "measure" => measure_all(&extra),
        _ => {
            Err("usage: crisis-training train | crisis-training measure [FILE.jsonl …]".to_owned())
        }
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

fn train() -> Result<(), String> {
    let rows = own_rows()?;
    println!("{} rows; cross-validation for the thresholds …", rows.len());
    let scores = measure::cross_validate(&rows);
    let thresholds = measure::thresholds(&rows, &scores);
    println!("training on all rows …");
    let all: Vec<&Row> = rows.iter().collect();
    let trained = model::Trained::on(&all);
    write::model(&folder(), &trained, &thresholds)
}

fn measure_all(extra: &[PathBuf]) -> Result<(), String> {
    let rows = own_rows()?;
    let scores = measure::cross_validate(&rows);
    let thresholds = measure::thresholds(&rows, &scores);
    measure::report(&rows, &scores, &thresholds);
    if !extra.is_empty() {
        let all: Vec<&Row> = rows.iter().collect();
        let trained = model::Trained::on(&all);
        for file in extra {
            let other = rows::read(file)?;
            let scores: Vec<f64> = other.iter().map(|row| trained.score(row)).collect();
            println!("\n{} (trained on all own rows)", file.display());
            measure::report(&other, &scores, &thresholds);
        }
    }
    measure::across_batches(&rows, &thresholds);
    Ok(())
}
