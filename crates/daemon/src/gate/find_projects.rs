//! Looks for the rules of the projects of a call, without waiting for a file system that hangs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_facts::ProjectLook;
use countersign_risk::context::Context;

use super::call_projects::CallProjects;
use super::caller::Caller;
use super::places_to_look::PlacesToLook;
use super::state::Gate;

/// How long a file system may take to answer.
const LOOK_TIME: Duration = Duration::from_secs(1);

impl Gate {
    /// The rules of the projects that a call belongs to. `observed`: what the caller found. If a
    /// file system does not answer, a person decides.
    pub async fn find_projects(
        &self,
        caller: &Caller,
        context: &Context<'_>,
        observed: Option<ProjectLook>,
    ) -> CallProjects {
        self.look_for_projects(caller, context, (observed, false)).await
    }

    /// The rules of the projects of a call that a person edited. What its caller found is not kept,
    /// so that a person decides where the daemon cannot look.
    pub async fn find_projects_of_edit(
        &self,
        caller: &Caller,
        context: &Context<'_>,
    ) -> CallProjects {
        self.look_for_projects(caller, context, (None, true)).await
    }

    async fn look_for_projects(
        &self,
        caller: &Caller,
        context: &Context<'_>,
        (observed, is_unseen): (Option<ProjectLook>, bool),
    ) -> CallProjects {
        let place = |name: Option<&str>| name.map(PathBuf::from).filter(|path| path.is_absolute());
        let (cwd, project) = (place(context.cwd), place(context.project));
        if cwd.is_none() && project.is_none() && observed.is_none() {
            return CallProjects::default();
        }
        let shown = project.as_ref().or(cwd.as_ref()).map(|path| path.display().to_string());
        let look =
            PlacesToLook { cwd, project, observed, is_local: caller.is_socket_peer, is_unseen };
        let (rules, looks) = (Arc::clone(&self.projects), Arc::clone(&self.projects.looks));
        let in_force = self.rules();
        let named: Vec<PathBuf> = look.named().collect();
        let read = async move {
            let slot = looks.acquire_owned().await.ok()?;
            let read = tokio::task::spawn_blocking(move || {
                let _held = slot;
                rules.read(&look, &in_force)
            });
            read.await.ok()
        };
        let read = tokio::time::timeout(LOOK_TIME, read).await.ok().flatten();
        read.unwrap_or_else(|| {
            let problem = "the file system did not answer in time";
            let found = CallProjects::unreadable(shown.unwrap_or_default(), problem);
            self.projects.with_adopted(found, &named, &self.rules())
        })
    }
}
