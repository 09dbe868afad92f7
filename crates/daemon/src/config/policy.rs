//! Policy rules: the section of the configuration, and the `.cedar` files next to it.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use countersign_policy::{CompiledPolicy, PolicySection, PolicySource};
use countersign_risk::verdict::Policy;

use super::channels::is_built_in;
use super::error::ConfigError;
use super::paths::Paths;
use super::settings::CONFIG_FILE;
use super::{file, sections};

/// The folder beside the configuration.
const FOLDER: &str = "policy";
/// The file in the state folder with the rules that people applied through the API.
pub const API_RULES: &str = "api.cedar";
/// How many files are read, and how large they may be.
const MAX_FILES: usize = 256;
const MAX_BYTES: u64 = 1 << 20;

/// Rules as they are written, whether their tests pass or not.
#[derive(Debug)]
pub struct WrittenPolicy {
    /// The rules.
    pub policy: CompiledPolicy,
    /// How calls are assessed.
    pub assessment: Policy,
}

impl WrittenPolicy {
    /// Reads the configuration and the rules next to it, and nothing else of it.
    pub fn load(paths: &Paths) -> Result<WrittenPolicy, ConfigError> {
        let text = match fs::read_to_string(&paths.config) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| unreadable(&paths.config, &error))?,
        };
        let written: file::ConfigFile = toml::from_str(&text)
            .map_err(|error| ConfigError::Syntax(error.to_string().trim_end().to_owned()))?;
        let assessment = sections::assessment(&written.assessment)?;
        let policy = compile(&written.policy, paths)?;
        check_routes(&policy, |name| {
            let rota = name.strip_prefix('@').is_some_and(|name| written.rota.contains_key(name));
            rota || is_built_in(name) || written.channels.contains_key(name)
        })?;
        Ok(WrittenPolicy { policy, assessment })
    }
}

/// The rules of a configuration, after all their tests passed.
pub fn tested_policy(
    section: &PolicySection,
    paths: &Paths,
    assessment: &Policy,
) -> Result<Arc<CompiledPolicy>, ConfigError> {
    let policy = compile(section, paths)?;
    let failed: Vec<String> =
        policy.run_cases(assessment).iter().map(|failed| format!("test {failed}")).collect();
    if failed.is_empty() {
        Ok(Arc::new(policy))
    } else {
        Err(ConfigError::Policy(failed.join("\n")))
    }
}

/// A rule with an unknown channel would announce to no one.
pub fn check_routes(
    policy: &CompiledPolicy,
    is_known: impl Fn(&str) -> bool,
) -> Result<(), ConfigError> {
    match unknown_route(policy, is_known) {
        None => Ok(()),
        Some(problem) => Err(ConfigError::Policy(problem)),
    }
}

/// What is wrong with the channels that rules name.
pub fn unknown_route(policy: &CompiledPolicy, is_known: impl Fn(&str) -> bool) -> Option<String> {
    let (rule, name) = policy.routes().find(|(_, name)| !is_known(name))?;
    let what = if name.starts_with('@') { "rota" } else { "channel" };
    Some(format!("rule {rule}: route: the {what} `{name}` is not configured"))
}

fn compile(section: &PolicySection, paths: &Paths) -> Result<CompiledPolicy, ConfigError> {
    let mut sources = sources(&paths.config.with_file_name(FOLDER))?;
    sources.extend(api_rules(&paths.state.join(API_RULES))?);
    CompiledPolicy::compile(CONFIG_FILE, section, &sources)
        .map_err(|errors| ConfigError::Policy(errors.to_string()))
}

/// The `.cedar` files of a folder, by name.
fn sources(folder: &Path) -> Result<Vec<PolicySource>, ConfigError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| unreadable(folder, &error))?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, &error))?.path();
        if path.extension().is_some_and(|ending| ending == "cedar") {
            files.push(path);
        }
    }
    files.sort();
    if files.len() > MAX_FILES {
        let problem = format!("{} has more than {MAX_FILES} files", folder.display());
        return Err(ConfigError::Policy(problem));
    }
    files.into_iter().map(|path| read_source(&path)).collect()
}

/// The rules that people applied through the API. The command line may not be allowed to enter the
/// daemon's folder; the daemon always is.
fn api_rules(path: &Path) -> Result<Option<PolicySource>, ConfigError> {
    let denied = [ErrorKind::NotFound, ErrorKind::PermissionDenied];
    match fs::symlink_metadata(path) {
        Err(error) if denied.contains(&error.kind()) => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
        Ok(_) => {
            let source = read_source(path)?;
            Ok(Some(PolicySource { file: API_RULES.to_owned(), ..source }))
        }
    }
}

fn read_source(path: &Path) -> Result<PolicySource, ConfigError> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| unreadable(path, &error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if u64::try_from(text.len()).is_ok_and(|length| length > MAX_BYTES) {
        return Err(ConfigError::Policy(format!("{name} is larger than 1 MiB")));
    }
    Ok(PolicySource { file: format!("{FOLDER}/{name}"), text })
}

fn unreadable(path: &Path, error: &std::io::Error) -> ConfigError {
    ConfigError::Unreadable(path.to_owned(), error.to_string())
}
