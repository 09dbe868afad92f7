//! Clocks, percentiles and tables.

use std::time::Instant;

/// One thing that is measured on inputs of some kind.
pub struct Contender<'a, I: ?Sized> {
    /// Its name in the table.
    pub name: &'static str,
    /// What is timed.
    pub work: Box<dyn FnMut(&I) + 'a>,
}

impl<'a, I: ?Sized> Contender<'a, I> {
    /// A name and its work.
    pub fn new(name: &'static str, work: impl FnMut(&I) + 'a) -> Contender<'a, I> {
        Contender { name, work: Box::new(work) }
    }
}

/// Nanoseconds of one run.
pub fn time(work: impl FnOnce()) -> u64 {
    let start = Instant::now();
    work();
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Measures every contender on every input, in turn, `rounds` times. Gives each contender's
/// figures: one for each input, the median of its rounds, sorted.
pub fn round_robin<I: ?Sized>(
    contenders: &mut [Contender<'_, I>],
    inputs: &[&I],
    rounds: usize,
) -> Vec<Vec<u64>> {
    let mut figures = vec![Vec::with_capacity(inputs.len()); contenders.len()];
    let mut runs = vec![Vec::with_capacity(rounds); contenders.len()];
    for input in inputs {
        runs.iter_mut().for_each(Vec::clear);
        for _ in 0..rounds.max(1) {
            for (contender, runs) in contenders.iter_mut().zip(&mut runs) {
                runs.push(time(|| (contender.work)(input)));
            }
        }
        for (runs, figures) in runs.iter_mut().zip(&mut figures) {
            runs.sort_unstable();
            figures.push(at(runs, 500));
        }
    }
    for figures in &mut figures {
        figures.sort_unstable();
    }
    figures
}

/// The value below which so many thousandths of sorted figures lie.
pub fn at(sorted: &[u64], thousandths: usize) -> u64 {
    let last = sorted.len().saturating_sub(1);
    let index = (sorted.len() * thousandths / 1000).min(last);
    sorted.get(index).copied().unwrap_or(0)
}

/// Microseconds, to two places.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub fn micros(nanos: u64) -> String {
    format!("{:.2}", nanos as f64 / 1e3)
}

/// How many times the one is of the other.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub fn ratio(one: u64, other: u64) -> f64 {
    one as f64 / other.max(1) as f64
}

/// Prints a table; the first contender is ours and the last column says how many times it takes.
pub fn table<I: ?Sized>(title: &str, contenders: &[Contender<'_, I>], figures: &[Vec<u64>]) {
    println!("\n{title}");
    println!(
        "{:34} {:>9} {:>9} {:>9} {:>10} {:>9}  first / this",
        "µs", "median", "p90", "p99", "max", "mean"
    );
    let ours = figures.first().map_or(0, |f| at(f, 500));
    for (contender, figures) in contenders.iter().zip(figures) {
        let count = u64::try_from(figures.len()).unwrap_or(1).max(1);
        println!(
            "{:34} {:>9} {:>9} {:>9} {:>10} {:>9}  {:.2}",
            contender.name,
            micros(at(figures, 500)),
            micros(at(figures, 900)),
            micros(at(figures, 990)),
            micros(figures.last().copied().unwrap_or(0)),
            micros(figures.iter().sum::<u64>() / count),
            ratio(ours, at(figures, 500)),
        );
    }
}
