//! Where this agent's certificate is, and which authority it belongs to.

use std::fs;
use std::path::{Path, PathBuf};

use countersign_a2a::{FleetFiles, PeerPolicies};
use countersign_client::Endpoint;
use countersign_daemon::config::Paths;
use countersign_daemon::config::paths::EnvironmentVariables as _;

use super::args_a2a::IdentityArgs;
use crate::failure::Failure;
use crate::gate::reach::{self, ProcessEnvironment};

/// The folder of certificates: beside the configuration file.
pub fn pki_folder() -> PathBuf {
    Paths::from_environment(&ProcessEnvironment).config.with_file_name("pki")
}

/// The registry of agents.
pub fn registry_file() -> PathBuf {
    Paths::from_environment(&ProcessEnvironment).config.with_file_name("a2a_agents.json")
}

/// The file that says what each peer may ask: the named one, or the usual one.
pub fn policy_file(named: Option<&Path>) -> PathBuf {
    named.map_or_else(|| registry_file().with_file_name("a2a_peers.toml"), Path::to_owned)
}

/// What each peer may ask: the named file must exist, the usual one need not.
pub fn policies(named: Option<&Path>) -> Result<PeerPolicies, Failure> {
    let file = policy_file(named);
    if named.is_none() && !file.exists() {
        return Ok(PeerPolicies::default());
    }
    PeerPolicies::read(&file).map_err(|error| Failure::Input(error.to_string()))
}

/// The files of this agent: by flag, environment or default path.
pub fn files(args: &IdentityArgs) -> Result<FleetFiles, Failure> {
    let folder = pki_folder();
    let variable = |name: &str| ProcessEnvironment.get(name).map(PathBuf::from);
    let given = |flag: &Option<PathBuf>, name: &str| flag.clone().or_else(|| variable(name));
    let certificate = given(&args.cert, "COUNTERSIGN_A2A_CERT");
    let key = given(&args.key, "COUNTERSIGN_A2A_KEY");
    let authority = given(&args.ca, "COUNTERSIGN_A2A_CA");
    let default = || -> Result<FleetFiles, Failure> {
        Ok(FleetFiles::in_folder(&folder, &agent_name(args, &folder)?))
    };
    let files = match (certificate, key) {
        (Some(certificate), Some(key)) => {
            let authority =
                authority.unwrap_or_else(|| FleetFiles::in_folder(&folder, "any").authority);
            FleetFiles { certificate, key, authority }
        }
        (None, None) => {
            let default = default()?;
            FleetFiles { authority: authority.unwrap_or(default.authority.clone()), ..default }
        }
        _ => {
            return Err(Failure::Input("give --cert and --key together".to_owned()));
        }
    };
    Ok(files)
}

/// The agent's name: named, or the only one that has a certificate here.
fn agent_name(args: &IdentityArgs, folder: &Path) -> Result<String, Failure> {
    let named = args.name.clone().or_else(|| ProcessEnvironment.get("COUNTERSIGN_AGENT_NAME"));
    if let Some(name) = named {
        return Ok(name);
    }
    let found = fs::read_dir(folder.join("agents")).into_iter().flatten().flatten();
    let mut names = found.filter_map(|entry| entry.file_name().into_string().ok());
    match (names.next(), names.next()) {
        (Some(name), None) => Ok(name),
        (None, _) => Err(Failure::Input(format!(
            "no certificate in {}; run `countersign pki issue NAME` first",
            folder.display()
        ))),
        (Some(_), Some(_)) => Err(Failure::Input(
            "several agents have a certificate here; choose one with --name".to_owned(),
        )),
    }
}

/// The agent API of the daemon that holds the authority.
pub fn authority(args: &IdentityArgs, agents: Option<&str>) -> Result<Endpoint, Failure> {
    let named =
        args.authority.clone().or_else(|| ProcessEnvironment.get("COUNTERSIGN_A2A_AUTHORITY"));
    match named {
        Some(text) => Ok(Endpoint::parse(&text)?),
        None => reach::agent_endpoint(agents, false),
    }
}
