//! Where a session works, for calls whose event does not say it: the project and the host, with its
//! version.

use std::env;
use std::path::{Path, PathBuf};

use countersign_client::{git_root, home_folder};

use super::agent_version::{self, version_in};
use crate::agents::{HookAgent, HookEvent, ProposedCall};

/// What the hook's own process knows about the session.
#[derive(Debug, Clone, Default)]
pub struct SessionPlace {
    /// The project folder that the agent gave its hook in a variable.
    pub project: Option<String>,
    /// The folder that the agent runs in: the session's first directory.
    pub directory: Option<PathBuf>,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The version of the agent program, if it said it in a variable.
    pub version: Option<String>,
}

impl SessionPlace {
    /// From the variables and the working directory of this process.
    pub fn of_process(agent: &HookAgent) -> SessionPlace {
        let named = |name: &&str| env::var(name).ok().filter(|folder| !folder.is_empty());
        // A plugin may run in a server that was started anywhere.
        let is_own_directory = !agent.runs_in_plugin;
        SessionPlace {
            project: agent.project_variables.iter().find_map(named),
            directory: is_own_directory.then(|| env::current_dir().ok()).flatten(),
            home: home_folder(),
            version: env::var(agent_version::VARIABLE)
                .ok()
                .and_then(|value| version_in(&value, agent.host)),
        }
    }

    /// Completes the calls of an event. The host is the agent whose installed command runs, never
    /// what an event says.
    pub fn complete(&self, agent: &HookAgent, event: &mut HookEvent) {
        match event {
            HookEvent::Before(call) => self.complete_call(agent, call),
            HookEvent::After(done) => self.complete_call(agent, &mut done.call),
            HookEvent::Batch(calls) => {
                for call in calls {
                    self.complete_call(agent, call);
                }
            }
            HookEvent::Message { .. } => {}
        }
    }

    fn complete_call(&self, agent: &HookAgent, call: &mut ProposedCall) {
        call.host = Some(agent.host);
        let version = call.host_version.take().and_then(agent_version::checked);
        call.host_version = version.or_else(|| self.version.clone());
        let from_event = call.project.take();
        let root = |folder: &Path| {
            git_root(folder, self.home.as_deref())?.into_os_string().into_string().ok()
        };
        let first = || self.directory.as_deref().and_then(root);
        let current = || call.cwd.as_deref().map(Path::new).and_then(root);
        call.project = self.project.clone().or(from_event).or_else(first).or_else(current);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::agents::{self, CompletedCall};

    fn completed(place: &SessionPlace, call: ProposedCall) -> ProposedCall {
        let agent = agents::named("claude").unwrap();
        let mut event = HookEvent::Before(call);
        place.complete(agent, &mut event);
        let HookEvent::Before(call) = event else { panic!("another event") };
        call
    }

    #[test]
    fn the_project_is_what_the_host_says_else_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let text = |path: &Path| Some(path.to_str().unwrap().to_owned());
        let (first, other) = (folder.path().join("first"), folder.path().join("other"));
        for repository in [&first, &other] {
            fs::create_dir_all(repository.join(".git")).unwrap();
            fs::create_dir_all(repository.join("src")).unwrap();
        }
        let in_other = || ProposedCall { cwd: text(&other.join("src")), ..ProposedCall::default() };
        let mut place = SessionPlace { home: Some("/home/ana".into()), ..SessionPlace::default() };
        assert_eq!(completed(&place, in_other()).project, text(&other));
        assert_eq!(completed(&place, ProposedCall::default()).project, None);
        place.directory = Some(first.join("src"));
        assert_eq!(completed(&place, in_other()).project, text(&first));
        let named = ProposedCall { project: Some("/event".to_owned()), ..in_other() };
        assert_eq!(completed(&place, named.clone()).project.as_deref(), Some("/event"));
        place.project = Some("/variable".to_owned());
        assert_eq!(completed(&place, named).project.as_deref(), Some("/variable"));
    }

    #[test]
    fn the_version_is_what_the_event_says_else_the_variable() {
        let mut place = SessionPlace::default();
        let version = |place: &SessionPlace, said: Option<&str>| {
            let host_version = said.map(ToOwned::to_owned);
            completed(place, ProposedCall { host_version, ..ProposedCall::default() }).host_version
        };
        assert_eq!(version(&place, None), None);
        assert_eq!(version(&place, Some("1.2.3")).as_deref(), Some("1.2.3"));
        place.version = Some("2.1.325".to_owned());
        assert_eq!(version(&place, None).as_deref(), Some("2.1.325"));
        assert_eq!(version(&place, Some("1\u{202e}2")).as_deref(), Some("2.1.325"));
    }

    #[test]
    fn the_host_is_that_of_the_installed_command_for_every_event() {
        let place = SessionPlace::default();
        let call = ProposedCall { host: Some("codex"), ..ProposedCall::default() };
        for agent in agents::AGENTS {
            let done = CompletedCall { call: call.clone(), ..CompletedCall::default() };
            for mut event in [
                HookEvent::Before(call.clone()),
                HookEvent::After(done),
                HookEvent::Batch(vec![call.clone(), call.clone()]),
            ] {
                place.complete(agent, &mut event);
                let calls = match &event {
                    HookEvent::Before(call) => vec![call],
                    HookEvent::After(done) => vec![&done.call],
                    HookEvent::Batch(calls) => calls.iter().collect(),
                    HookEvent::Message { .. } => Vec::new(),
                };
                assert!(calls.iter().all(|call| call.host == Some(agent.host)), "{}", agent.name);
            }
        }
    }
}
