//! `countersign service`: the daemon as a service of systemd or launchd.

mod apply;
pub mod args;
mod first_passphrase;
mod launchd_plist;
mod manage;
mod spec;
mod steps;
mod systemd_unit;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use countersign_daemon::config::Paths;
use countersign_daemon::config::paths::EnvironmentVariables;
use countersign_gateways::programs::small_program_beside;

use crate::failure::Failure;
use crate::gate::output;
use crate::gate::reach::{ProcessEnvironment, SYSTEM_KEY};

use args::{ServiceArgs, ServiceInstall, ServiceWhat};
use spec::{ServiceAccount, ServiceManager, ServiceSpec, is_account_name};
use steps::ServiceStep;

/// Runs the command.
pub fn run(args: &ServiceArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        ServiceWhat::Install(args) => install(args),
        ServiceWhat::Status { json } => manage::status(&installed()?, *json),
        ServiceWhat::Health => manage::health(),
        ServiceWhat::Restart => manage::restart(&installed()?),
        ServiceWhat::Logs { lines, follow } => manage::logs(&installed()?, *lines, *follow),
        ServiceWhat::Uninstall { dry_run } => uninstall(*dry_run),
        ServiceWhat::RotateKey { compromised } => rotate_key(*compromised),
        ServiceWhat::FirstPassphrase { config, state, if_missing } => {
            let is_root = rustix::process::geteuid().is_root();
            let service = (is_root && state.is_none()).then(installed).transpose()?;
            if let Some(service) = service.filter(|service| service.account.is_some()) {
                // The store must belong to the account of the service.
                apply::first_passphrase(&service)?;
                return Ok(ExitCode::SUCCESS);
            }
            first_passphrase::run(config.as_deref(), state.as_deref(), *if_missing)
        }
    }
}

fn install(args: &ServiceInstall) -> Result<ExitCode, Failure> {
    let spec = requested(args)?;
    let steps = steps::install_steps(&spec)?;
    if args.dry_run {
        return show(&steps);
    }
    if spec.account.is_some() && !rustix::process::geteuid().is_root() {
        let advice = "run it with sudo, or install a service of this user with --user";
        return Err(Failure::Input(format!("a system service needs root: {advice}")));
    }
    can_start(&spec)?;
    for step in &steps {
        output::line(&step.to_string())?;
        apply::apply(step, &spec)?;
    }
    if spec.start {
        output::line(&manage::wait_until_it_answers(&spec)?)?;
    }
    for advice in advice(&spec) {
        output::line(&advice)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What to do after the installation.
fn advice(spec: &ServiceSpec) -> Vec<String> {
    let mut lines = vec!["\nInstalled. Check it: countersign service status".to_owned()];
    if !std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        lines.push(
            "No passphrase was shown, because this output is not a terminal. Stop the service and \
             run `countersign service first-passphrase` in a terminal."
                .to_owned(),
        );
    }
    match &spec.account {
        Some(account) => {
            let group = &account.agents;
            lines.push(format!("Let a user's agents ask: usermod -a -G {group} USER"));
            lines.push("Then, as that user: countersign doctor".to_owned());
        }
        None if spec.manager == ServiceManager::Systemd => {
            lines.push("It stops when you log out, unless: loginctl enable-linger".to_owned());
        }
        None => {}
    }
    lines
}

fn uninstall(dry_run: bool) -> Result<ExitCode, Failure> {
    let spec = installed()?;
    if !spec.file.exists() {
        output::line(&format!("No service is installed ({}).", spec.file.display()))?;
        return Ok(ExitCode::FAILURE);
    }
    let steps = steps::uninstall_steps(&spec);
    if dry_run {
        return show(&steps);
    }
    for step in &steps {
        output::line(&step.to_string())?;
        apply::apply(step, &spec)?;
    }
    let kept =
        [&spec.config, &spec.state].map(|path| path.as_ref().map(|p| p.display().to_string()));
    let kept: Vec<String> = kept.into_iter().flatten().collect();
    if !kept.is_empty() {
        output::line(&format!("Kept: {} and the account.", kept.join(", ")))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn rotate_key(compromised: bool) -> Result<ExitCode, Failure> {
    let spec = installed()?;
    if !spec.file.exists() || spec.account.is_none() {
        let why = "no system service is installed; for a daemon of this user: countersign keys \
                   rotate";
        return Err(Failure::Input(why.to_owned()));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::Input("run it with sudo: the key belongs to the service".to_owned()));
    }
    apply::rotate_key(&spec, compromised)?;
    apply::public_key(Path::new(SYSTEM_KEY), &spec)?;
    output::line(&format!(
        "The daemon's key is replaced, and the new one is in {SYSTEM_KEY}.\nRisky calls are \
         blocked until you restart the service: countersign service restart"
    ))
}

/// Prints steps and the files they write.
fn show(steps: &[ServiceStep]) -> Result<ExitCode, Failure> {
    output::say(|out, _| Ok(out.write_all(steps::listing(steps).as_bytes())?))
}

/// The service that the command line asks for.
fn requested(args: &ServiceInstall) -> Result<ServiceSpec, Failure> {
    let manager = ServiceManager::here();
    let running = std::env::current_exe()?;
    let mut spec = if args.system {
        let names = [&args.account, &args.group].into_iter().chain(&args.agent_user);
        for name in names {
            if !is_account_name(name) {
                return Err(Failure::at(name, "not a name of an account or group"));
            }
        }
        if args.own_user && manager == ServiceManager::Launchd {
            let why = "accounts are not created on macOS; create one and name it with --account";
            return Err(Failure::at("--own-user", why));
        }
        let account = ServiceAccount {
            name: args.account.clone(),
            agents: args.group.clone(),
            members: args.agent_user.clone(),
            create: args.own_user,
        };
        ServiceSpec::system(manager, account, programs(&running))
    } else {
        of_this_user(manager, running)?
    };
    spec.start = !args.no_start;
    Ok(spec)
}

/// The running program, and the small one for hooks next to it.
fn programs(running: &Path) -> Vec<PathBuf> {
    let small = small_program_beside(running);
    [running.to_owned(), small].into_iter().filter(|path| path.is_file()).collect()
}

/// A service of this user, with the paths that the environment names now: the service manager may
/// have another environment.
fn of_this_user(manager: ServiceManager, program: PathBuf) -> Result<ServiceSpec, Failure> {
    let home = ProcessEnvironment.get("HOME").ok_or_else(|| {
        Failure::Input("HOME is not set, so there is no user to install a service for".to_owned())
    })?;
    let mut spec = ServiceSpec::user(manager, Path::new(&home), program);
    let (named, standard) =
        (Paths::from_environment(&ProcessEnvironment), Paths::from_environment(&HomeOnly(home)));
    spec.state = (named.state != standard.state).then_some(named.state);
    spec.config = (named.config != standard.config).then_some(named.config);
    Ok(spec)
}

/// An environment with a home folder only.
struct HomeOnly(String);

impl EnvironmentVariables for HomeOnly {
    fn get(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| self.0.clone())
    }
}

/// The installed service: the system's if there is one, else this user's.
fn installed() -> Result<ServiceSpec, Failure> {
    let manager = ServiceManager::here();
    let account = ServiceAccount {
        name: "countersign".to_owned(),
        agents: "countersign-agents".to_owned(),
        members: Vec::new(),
        create: false,
    };
    let mut system = ServiceSpec::system(manager, account, Vec::new());
    if let Ok(unit) = std::fs::read_to_string(&system.file) {
        let user = unit.lines().find_map(|line| line.strip_prefix("User="));
        if let (Some(account), Some(user)) = (&mut system.account, user) {
            user.clone_into(&mut account.name);
        }
        return Ok(system);
    }
    of_this_user(manager, std::env::current_exe()?)
}

/// Fails before the first step if the service could not be started afterwards.
fn can_start(spec: &ServiceSpec) -> Result<(), Failure> {
    let is_systemd = spec.manager == ServiceManager::Systemd;
    if is_systemd && spec.start && !Path::new("/run/systemd/system").exists() {
        let why = "systemd does not run on this machine; with --no-start everything is installed \
                   and nothing is started";
        return Err(Failure::Input(why.to_owned()));
    }
    Ok(())
}
