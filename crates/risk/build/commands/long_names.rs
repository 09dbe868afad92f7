//! The long options that the tables know of a program, to recognise shortened ones.

use std::collections::BTreeSet;

use super::schema::{Program, Rule, Runner};

/// All long options of the programs of one description, sorted.
pub fn of(program: &Program, rules: &[Rule], runners: &[Runner]) -> Vec<String> {
    let lists = [&program.values, &program.exec, &program.first_if, &program.in_place];
    let more = [&program.recursive, &program.dry, &program.only_reads];
    let own = lists.into_iter().chain(more).flatten().chain(program.touches.keys());
    let mut names: BTreeSet<&str> = own.map(String::as_str).collect();
    let shared = |programs: &[String]| programs.iter().any(|name| program.names.contains(name));
    for rule in rules.iter().filter(|rule| shared(&rule.programs)) {
        let flags = rule.flags.iter().chain(&rule.all_flags).chain(&rule.not_flags);
        let words = flags.chain(&rule.arg).chain(&rule.last).chain(rule.option.keys());
        names.extend(words.flat_map(|flag| flag.split('|')));
    }
    for runner in runners.iter().filter(|runner| shared(&runner.programs)) {
        let options = runner.options.iter().chain(&runner.unless).chain(&runner.values);
        names.extend(options.map(String::as_str));
    }
    let long = |name: &&str| name.starts_with("--") && name.len() > 3;
    // `--option=value` and `--option*` name an option too.
    let names = names.into_iter().filter_map(|name| name.split(['=', '*', '?', ' ']).next());
    let names = names.filter(long);
    let sorted: BTreeSet<&str> = names.collect();
    sorted.into_iter().map(str::to_owned).collect()
}
