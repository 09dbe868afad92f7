//! `rules/commands` and `rules/paths.toml` → static tables of programs, rules and path classes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[path = "commands/gate.rs"]
mod gate;
#[path = "commands/lists.rs"]
mod lists;
#[path = "commands/long_names.rs"]
mod long_names;
#[path = "commands/paths.rs"]
mod paths;
#[path = "commands/programs.rs"]
mod programs;
#[path = "commands/runners.rs"]
mod runners;
#[path = "commands/schema.rs"]
mod schema;
#[path = "commands/source.rs"]
mod source;

use crate::effects::variants;
use crate::examples::Examples;
use lists::static_list;
use paths::{path_examples, write_paths};
use schema::{Anywhere, Assignment, File, PathFile, Program, Rule, Runner, Scope};
use source::{flags, globs, globs_ref, list, operands, put, sub_paths, tier, touch_pairs};

/// Reads the rule files of this kind and writes the table into `out`; returns the examples.
pub fn generate(rules: &Path, out: &Path) -> Result<Vec<String>, String> {
    let mut tables = Tables::default();
    let mut files: Vec<_> = fs::read_dir(rules)
        .map_err(|e| format!("{}: {e}", rules.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    for path in files {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let file: File = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let family = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
        tables.add(&family, file).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let paths = rules.with_file_name("paths.toml");
    let text = fs::read_to_string(&paths).map_err(|e| format!("{}: {e}", paths.display()))?;
    let classes: PathFile =
        toml::from_str(&text).map_err(|e| format!("{}: {e}", paths.display()))?;
    tables.check_places()?;
    tables.describe_runners();
    let mut source = tables.write()?;
    write_paths(&classes, &mut source)?;
    source.push_str(&lists::tables(false)?);
    fs::write(out.join("commands.rs"), source).map_err(|e| e.to_string())?;
    let patterns = source::glob_text() + &lists::tables(true)?;
    fs::write(out.join("globs.rs"), patterns).map_err(|e| e.to_string())?;
    let mut examples = tables.examples()?;
    examples.push(path_examples(&classes)?);
    Ok(examples)
}

#[derive(Default)]
struct Tables {
    specs: Vec<(String, Program)>,
    names: BTreeMap<String, usize>,
    rules: Vec<Rule>,
    assignments: Vec<Assignment>,
    runners: Vec<Runner>,
    anywhere: Anywhere,
}

impl Tables {
    fn add(&mut self, family: &str, file: File) -> Result<(), String> {
        for program in file.program {
            for name in &program.names {
                if self.names.insert(name.clone(), self.specs.len()).is_some() {
                    return Err(format!("program `{name}` is described twice"));
                }
            }
            self.specs.push((family.to_owned(), program));
        }
        for rule in file.rule {
            if !rule.id.starts_with(&format!("{family}.")) {
                return Err(format!("rule `{}` must begin with `{family}.`", rule.id));
            }
            if self.rules.iter().any(|r| r.id == rule.id) {
                return Err(format!("rule `{}` stands here twice", rule.id));
            }
            self.rules.push(rule);
        }
        self.assignments.extend(file.assignment);
        self.runners.extend(file.runner);
        if let Some(anywhere) = file.anywhere {
            self.anywhere = anywhere;
        }
        Ok(())
    }

    /// A rule is in the file that describes its program. A rule for programs of several files may
    /// be in any file.
    fn check_places(&self) -> Result<(), String> {
        for rule in &self.rules {
            let family = rule.id.split('.').next().unwrap_or_default();
            let described = rule.programs.iter().filter_map(|name| self.names.get(name));
            let files: BTreeSet<&str> =
                described.filter_map(|at| Some(self.specs.get(*at)?.0.as_str())).collect();
            if files.len() == 1 && !files.contains(family) {
                let files: Vec<_> = files.into_iter().collect();
                return Err(format!("rule `{}` belongs into {}.toml", rule.id, files.join("")));
            }
        }
        Ok(())
    }

    /// A program that stands only in the table of runners gets a plain description.
    fn describe_runners(&mut self) {
        for (name, program) in runners::undescribed(&self.runners, &self.names) {
            self.names.insert(name, self.specs.len());
            self.specs.push(("runners".to_owned(), program));
        }
        for (name, at) in &mut self.names {
            let Some((family, program)) = self.specs.get(*at) else { continue };
            // Only this program has these options; others may share its description.
            if let Some(own) = runners::with_values(&self.runners, name, program) {
                let family = family.clone();
                *at = self.specs.len();
                self.specs.push((family, own));
            }
        }
    }

    /// The examples of the rules, the assignments and the runners.
    fn examples(&self) -> Result<Vec<String>, String> {
        let mut rules = Examples::new("COMMANDS");
        for rule in &self.rules {
            rules.add(&rule.id, &rule.examples, &rule.counter_examples)?;
        }
        let mut assignments = Examples::new("ASSIGNMENTS");
        for a in &self.assignments {
            assignments.add(&a.id, &a.examples, &a.counter_examples)?;
        }
        let runners: Vec<&str> = self.runners.iter().map(|r| r.example.as_str()).collect();
        let runners = format!("pub(crate) static RUNNERS: &[&str] = &{runners:?};\n");
        Ok(vec![rules.source(), assignments.source(), runners])
    }

    fn write(&self) -> Result<String, String> {
        let mut s = String::new();
        let mut by_program: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut by_scope: BTreeMap<Scope, Vec<usize>> = BTreeMap::new();
        put(
            &mut s,
            format!("/// Every rule.\npub static RULES: [Rule; {}] = [\n", self.rules.len()),
        );
        for (i, rule) in self.rules.iter().enumerate() {
            match rule.scope {
                Some(scope) if rule.programs.is_empty() => {
                    by_scope.entry(scope).or_default().push(i);
                }
                None if !rule.programs.is_empty() => {}
                _ => return Err(format!("rule `{}`: name `programs` or a `scope`", rule.id)),
            }
            for program in &rule.programs {
                if !self.names.contains_key(program) {
                    return Err(format!("rule `{}`: no program `{program}`", rule.id));
                }
                by_program.entry(program).or_default().push(i);
            }
            put(&mut s, rule_source(rule)?);
        }
        put(&mut s, "];\n");
        self.write_programs(&by_program, &mut s)?;
        for (scope, table) in [
            (Scope::Undescribed, "UNDESCRIBED"),
            (Scope::EveryProgram, "EVERY_PROGRAM"),
            (Scope::UndescribedReadOnly, "UNDESCRIBED_READ_ONLY"),
        ] {
            let rules = by_scope.get(&scope).map(Vec::as_slice).unwrap_or_default();
            put(
                &mut s,
                format!(
                    "/// Rules of the scope `{scope:?}`.\npub static {table}: StaticList<&Rule> = {};\n",
                    rule_refs(rules)
                ),
            );
        }
        self.write_assignments(&mut s)?;
        runners::write(&self.runners, &self.anywhere, &mut s)?;
        self.write_aliases(&mut s)?;
        Ok(s)
    }

    /// The descriptions, and the names with what they stand for.
    fn write_programs(
        &self,
        by_program: &BTreeMap<&str, Vec<usize>>,
        s: &mut String,
    ) -> Result<(), String> {
        let source = |(family, program): &(String, Program)| {
            let long = long_names::of(program, &self.rules, &self.runners);
            spec_source(family, program, &long).map_err(|e| format!("{:?}: {e}", program.names))
        };
        let sources: Vec<String> = self.specs.iter().map(source).collect::<Result<_, _>>()?;
        let (specs, numbers) = programs::unique(&sources);
        put(s, format!("/// Every description.\nstatic SPECS: [Spec; {}] = [\n", specs.len()));
        for spec in specs {
            put(s, spec);
        }
        put(s, "];\n");
        let mut names = BTreeMap::new();
        for (name, index) in &self.names {
            let rules = by_program.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
            let spec = *numbers.get(*index).ok_or("a name without a description")?;
            let meaning = (spec, rule_refs(rules), runners::refs(&self.runners, name));
            names.insert(name.as_str(), meaning);
        }
        programs::write(&names, s)
    }

    /// The aliases of cmdlets, sorted. They mean nothing outside PowerShell.
    fn write_aliases(&self, s: &mut String) -> Result<(), String> {
        let mut aliases = BTreeMap::new();
        for (_, program) in &self.specs {
            let Some(name) = program.names.first().filter(|_| program.cmdlet) else { continue };
            for alias in &program.aliases {
                // `alias:cmdlet` where the cmdlet is not the first of the list.
                let (alias, name) = match alias.split_once(':') {
                    Some((alias, cmdlet)) if program.names.iter().any(|n| n == cmdlet) => {
                        (alias, cmdlet)
                    }
                    Some(_) => return Err(format!("alias `{alias}`: no such cmdlet here")),
                    None => (alias.as_str(), name.as_str()),
                };
                if aliases.insert(alias, name).is_some() {
                    return Err(format!("alias `{alias}` has two cmdlets"));
                }
            }
        }
        put(s, "/// Aliases of PowerShell and their cmdlets.\n");
        put(s, format!("static CMDLET_ALIASES: [(&str, &str); {}] = [", aliases.len()));
        for (alias, name) in aliases {
            put(s, format!("({alias:?}, {name:?}), "));
        }
        put(s, "];\n");
        Ok(())
    }

    fn write_assignments(&self, s: &mut String) -> Result<(), String> {
        put(s, "/// Every assignment rule.\npub static ASSIGNMENTS: &[AssignmentRule] = &[\n");
        for a in &self.assignments {
            put(
                s,
                format!(
                    "AssignmentRule {{ id: {:?}, names: {}, values: {}, shell: {}, home: {}, tier: {}, message: {:?} }},\n",
                    a.id,
                    globs(&a.names),
                    globs(&a.values),
                    a.shell,
                    a.home,
                    tier(&a.tier)?,
                    a.message
                ),
            );
        }
        put(s, "];\n");
        Ok(())
    }
}

fn rule_refs(rules: &[usize]) -> String {
    static_list(lists::RULE_REFS, rules.iter().map(|i| format!("&RULES[{i}]")).collect())
}

fn rule_source(r: &Rule) -> Result<String, String> {
    let split = |names: &str| names.split('|').map(str::to_owned).collect::<Vec<_>>();
    let option = |(name, values): (&String, &Vec<String>)| {
        format!("({}, {})", list(&split(name)), globs(values))
    };
    let options = static_list(lists::OPTION_GLOBS, r.option.iter().map(option).collect());
    let all = r.all_flags.iter().map(|names| flags(&split(names))).collect();
    let all = static_list(lists::FLAG_CHOICES, all);
    let wrap = |e: String| format!("rule `{}`: {e}", r.id);
    Ok(format!(
        "Rule {{ gate: {:#x}, marks: {:#x}, head_marks: {:#x}, flag_marks: {:#x}, flag_gate: {:#x}, id: {:?}, tier: {}, message: {:?}, suggestion: {:?}, sub: {}, flags: {}, all_flags: {all}, not_flags: {}, operand: {}, not_operand: {}, first: {}, not_first: {}, last: {}, arg: {}, option: {options}, min_operands: {}, max_operands: {}, stdin: {}, root: {}, home: {}, computed: {}, settings: {}, once: {}, unplaced: {}, unseen: {}, fetched: {}, loses: {}, effects: {}, irreversible: {} }},\n",
        gate::gate(r),
        gate::marks(r),
        gate::head_marks(r),
        gate::flag_marks(r),
        gate::flag_gate(r),
        r.id,
        tier(&r.tier).map_err(wrap)?,
        r.message,
        r.suggestion,
        sub_paths(&r.sub),
        flags(&r.flags),
        flags(&r.not_flags),
        globs_ref(&r.operand),
        globs_ref(&r.not_operand),
        globs_ref(&r.first),
        globs_ref(&r.not_first),
        globs_ref(&r.last),
        globs_ref(&r.arg),
        r.min_operands,
        r.max_operands.unwrap_or(u8::MAX),
        r.stdin,
        r.root,
        r.home,
        r.computed,
        r.settings,
        once(r)?,
        r.unplaced,
        r.unseen,
        r.fetched,
        r.loses.map_or_else(|| "None".to_owned(), |loses| format!("Some(LostFiles::{loses:?})")),
        static_list(lists::EFFECTS, variants(&r.effects).map_err(wrap)?),
        r.irreversible
    ))
}

/// What one approval covers. Only what asks without being dangerous by itself can be approved once.
fn once(r: &Rule) -> Result<String, String> {
    match r.once {
        Some(_) if r.tier != "MEDIUM" => Err(format!("rule `{}`: `once` needs MEDIUM", r.id)),
        Some(once) => Ok(format!("Some(SessionApproval::{once:?})")),
        None => Ok("None".to_owned()),
    }
}

/// The single ASCII letters among these options, one bit each.
fn value_letters(values: &[String]) -> u128 {
    values.iter().fold(0, |set, v| match v.as_bytes() {
        [b'-', letter] if letter.is_ascii() => set | 1 << letter,
        _ => set,
    })
}

fn spec_source(family: &str, p: &Program, long: &[String]) -> Result<String, String> {
    let mut values = p.values.clone();
    values.extend(p.touches.keys().cloned());
    let interpreter = match &p.interpreter {
        None => "None".to_owned(),
        Some(i) => format!(
            "Some(Interpreter {{ language: CodeLanguage::{}, stdin: {}, script: {}, inline: {}, bare: {}, bare_operands: {} }})",
            i.language,
            i.stdin,
            i.script,
            tier(&i.inline)?,
            tier(&i.bare)?,
            i.bare_operands
        ),
    };
    Ok(format!(
        "Spec {{ family: {family:?}, base: {}, message: {:?}, ordinary: {:?}, single_dash: {}, posix: {}, letters: {:#x}, values: {}, long_names: {}, touches: {}, exec: {}, operands: {}, first_if: {}, in_place: {}, only_reads: {}, recursive: {}, dry: {}, keys: {}, interpreter: {interpreter}, fetches: {}, sends: {}, inert: {}, cmdlet: {}, positions: {}, switches: {}, input_paths: {}, slash_options: {}, filter: {}, named_only: {}, effects: {} }},\n",
        tier(&p.base)?,
        p.message,
        format!("{family}.ordinary"),
        p.single_dash || p.cmdlet || p.slash_options,
        p.posix,
        value_letters(&values),
        list(&values),
        list(long),
        touch_pairs(&p.touches)?,
        list(&p.exec),
        operands(&p.operands, p.inert)?,
        flags(&p.first_if),
        flags(&p.in_place),
        flags(&p.only_reads),
        flags(&p.recursive),
        flags(&p.dry),
        touch_pairs(&p.keys)?,
        p.fetches,
        p.sends,
        p.inert,
        p.cmdlet,
        list(&p.positions),
        list(&p.switches),
        p.input_paths,
        p.slash_options,
        p.filter,
        p.named_only,
        static_list(lists::EFFECTS, variants(&p.effects)?)
    ))
}
