//! What the tools of remote systems work on unless they are told otherwise.

use std::path::{Path, PathBuf};

use countersign_json::{self as json, Value};
use countersign_risk::facts::{CurrentFact, LikelyEnvironment, RemoteSystem, UnknownReason};

use crate::files;
use crate::local_look::LocalLook;

type Found = Result<CurrentFact, UnknownReason>;

/// What the tools of a system work on.
pub fn find(look: &LocalLook<'_>, system: RemoteSystem) -> Found {
    match system {
        RemoteSystem::Kubernetes => kubernetes(look),
        RemoteSystem::Docker => docker(look),
        RemoteSystem::Aws => aws(look),
        RemoteSystem::GoogleCloud => google_cloud(look),
    }
}

fn named(name: &str) -> Found {
    if name.is_empty() {
        return Err(UnknownReason::Missing);
    }
    let name = countersign_redact::redact_text(name).text.into_owned();
    Ok(CurrentFact { environment: LikelyEnvironment::of(&name), name })
}

fn variable(look: &LocalLook<'_>, name: &str) -> Option<String> {
    (look.place.variable)(name).filter(|value| !value.is_empty())
}

fn in_home(look: &LocalLook<'_>, path: &str) -> Result<PathBuf, UnknownReason> {
    look.place.home.as_deref().map(|home| home.join(path)).ok_or(UnknownReason::Missing)
}

fn text(look: &LocalLook<'_>, path: &Path) -> Result<String, UnknownReason> {
    files::read_text(path, look.budget.limits.config_bytes)
}

/// The first file that names a context counts.
fn kubernetes(look: &LocalLook<'_>) -> Found {
    let paths: Vec<PathBuf> = match variable(look, "KUBECONFIG") {
        Some(list) => list
            .split(':')
            .filter(|path| !path.is_empty())
            .map(|p| look.place.cwd.join(p))
            .collect(),
        None => vec![in_home(look, ".kube/config")?],
    };
    for path in paths {
        match text(look, &path) {
            Ok(text) => {
                if let Some(name) = current_context(&text) {
                    return named(&name);
                }
            }
            Err(UnknownReason::Missing) => {}
            Err(reason) => return Err(reason),
        }
    }
    Err(UnknownReason::Missing)
}

/// `current-context` of a file in YAML or JSON.
fn current_context(text: &str) -> Option<String> {
    if text.trim_start().starts_with('{') {
        let value = json::parse_within(text, text.len()).ok()?;
        return value.get("current-context")?.as_str().map(ToOwned::to_owned);
    }
    let line = text.lines().find_map(|line| line.strip_prefix("current-context:"))?;
    let value = line.split(" #").next().unwrap_or_default().trim();
    let value = value.trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

fn docker(look: &LocalLook<'_>) -> Found {
    if let Some(host) = variable(look, "DOCKER_HOST") {
        let found = named(&host)?;
        let is_local = host.starts_with("unix://") || host.starts_with("npipe://");
        let environment = if is_local { Some(LikelyEnvironment::Local) } else { found.environment };
        return Ok(CurrentFact { environment, ..found });
    }
    if let Some(name) = variable(look, "DOCKER_CONTEXT") {
        return context(&name);
    }
    let folder = variable(look, "DOCKER_CONFIG").map(|folder| look.place.cwd.join(folder));
    let folder = folder.map_or_else(|| in_home(look, ".docker"), Ok)?;
    let config = match text(look, &folder.join("config.json")) {
        Ok(text) => text,
        Err(UnknownReason::Missing) => return context("default"),
        Err(reason) => return Err(reason),
    };
    let value = json::parse_within(&config, config.len());
    let value = value.map_err(|_| UnknownReason::Unsupported)?;
    context(value.get("currentContext").and_then(Value::as_str).unwrap_or("default"))
}

/// Docker's own names for the engine on this machine.
fn context(name: &str) -> Found {
    let found = named(name)?;
    let is_local = name == "default" || name == "desktop-linux";
    let environment = if is_local { Some(LikelyEnvironment::Local) } else { found.environment };
    Ok(CurrentFact { environment, ..found })
}

fn aws(look: &LocalLook<'_>) -> Found {
    let profile = variable(look, "AWS_PROFILE").or_else(|| variable(look, "AWS_DEFAULT_PROFILE"));
    if let Some(profile) = profile {
        return named(&profile);
    }
    let is_configured = ["config", "credentials"].iter().any(|name| {
        in_home(look, &format!(".aws/{name}")).is_ok_and(|path| path.symlink_metadata().is_ok())
    });
    if is_configured { named("default") } else { Err(UnknownReason::Missing) }
}

/// The configuration and its project.
fn google_cloud(look: &LocalLook<'_>) -> Found {
    let folder = variable(look, "CLOUDSDK_CONFIG").map(|folder| look.place.cwd.join(folder));
    let folder = folder.map_or_else(|| in_home(look, ".config/gcloud"), Ok)?;
    let active = variable(look, "CLOUDSDK_ACTIVE_CONFIG_NAME");
    let active = active.map_or_else(|| text(look, &folder.join("active_config")), Ok)?;
    let active = active.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if active.is_empty() || !active.chars().all(is_name) {
        return Err(UnknownReason::Unsupported);
    }
    let project = variable(look, "CLOUDSDK_CORE_PROJECT").or_else(|| {
        let config = text(look, &folder.join(format!("configurations/config_{active}"))).ok()?;
        let of_line = |line: &str| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "project").then(|| value.trim().to_owned())
        };
        config.lines().find_map(of_line)
    });
    match project {
        Some(project) => named(&format!("{active}/{project}")),
        None => named(active),
    }
}
