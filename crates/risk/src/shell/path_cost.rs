//! What an act on a path costs: by class, by environment, by what the session did before.

use super::evaluator::Evaluator;
use crate::command_tables::{PathClass, REBUILT, REBUILT_IN_PROJECT};
use crate::context::Environment;
use crate::paths::{PathAction, last_part};
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

impl Evaluator<'_, '_, '_, '_> {
    /// What the act costs here: by class, by environment, by how wide the name reaches.
    pub(super) fn cost(&self, act: PathAction, class: &PathClass, path: &str, glob: bool) -> Tier {
        let mut tier = class.cost(act);
        let disposable = disposable(self.shared.ctx.environment, class.id, act);
        if disposable {
            tier = tier.min(Tier::Low);
        }
        // A session clears away its own temporary folders. Without a project nobody knows whose
        // they are.
        if self.shared.workspace.is_known()
            && class.id == "temporary"
            && matches!(act, PathAction::Delete | PathAction::DeleteTree)
            && !path.contains(['*', '?', '[', UNKNOWN])
        {
            tier = tier.min(Tier::Low);
        }
        let deletes = matches!(act, PathAction::Delete | PathAction::DeleteTree);
        if deletes && matches!(class.id, "project" | "project-whole") && self.is_rebuilt(path) {
            tier = tier.min(Tier::Low);
        }
        // What this session made it may take away again.
        if act == PathAction::Delete && tier > Tier::Low && !glob && !path.contains(UNKNOWN) {
            let made = self.shared.remembered(path).is_some_and(|(_, file)| !file.is_partial());
            if made {
                tier = class.cost(PathAction::Write).max(Tier::Low);
            }
        }
        let far = matches!(class.id, "home" | "home-whole" | "elsewhere");
        if glob && !disposable && (act == PathAction::Delete || act == PathAction::Change && far) {
            tier = tier.max(Tier::Medium);
        }
        // `tee ../*` overwrites every file that it finds there.
        if glob && !disposable && act == PathAction::Write && (far || class.id == "beside") {
            tier = tier.max(Tier::Medium);
        }
        // A variable that may be empty: `$DIR/*` can be `/*`.
        if act == PathAction::DeleteTree && path.starts_with("\0/") && path.len() <= 3 {
            tier = tier.max(Tier::High);
        }
        tier.max(self.cost_if_empty(act, path))
    }

    /// What the act costs if the unknown value at the start of the path is empty: `$DIR/etc/hosts`
    /// may be `/etc/hosts`.
    fn cost_if_empty(&self, act: PathAction, path: &str) -> Tier {
        let Some(rest) = path.strip_prefix(UNKNOWN).filter(|rest| rest.starts_with('/')) else {
            return Tier::Safe;
        };
        if act == PathAction::Read || rest.len() < 3 {
            return Tier::Safe;
        }
        let class = self.shared.class_for(act, rest);
        let ordinary = matches!(class.id, "elsewhere" | "shared-data" | "beside" | "root");
        if ordinary || disposable(self.shared.ctx.environment, class.id, act) {
            return Tier::Safe;
        }
        class.cost(act).min(Tier::Medium)
    }

    /// Whether a path is a folder that the project's own tools make again, or is in one.
    fn is_rebuilt(&self, path: &str) -> bool {
        if self.shared.rights.remote {
            // On another machine it is not the project.
            return false;
        }
        let is_known = self.shared.workspace.is_known();
        let is_rebuilt = |name: &str| {
            REBUILT.binary_search(&name).is_ok() || is_known && REBUILT_IN_PROJECT.contains(&name)
        };
        let path = path.trim_end_matches('/');
        let path = path.strip_suffix("/*").unwrap_or(path);
        if is_rebuilt(last_part(path)) {
            return true;
        }
        // Outside the project a folder above it may have such a name by chance.
        let is_in_rebuilt = |name: &String| {
            let is_outside = name.starts_with(['/', '~']) || name.contains([':', UNKNOWN]);
            !is_outside
                && !name.split('/').any(|part| part == "..")
                && name.split('/').any(is_rebuilt)
        };
        let names = if is_known { self.shared.names_of(path) } else { Vec::new() };
        !names.is_empty() && names.iter().all(is_in_rebuilt)
    }
}

/// Whether a throw-away file system makes this act ordinary: what belongs to the
/// build may go, and in a container the system's own files are the build.
fn disposable(environment: Environment, class: &str, act: PathAction) -> bool {
    let own = matches!(
        class,
        "project"
            | "project-whole"
            | "temporary"
            | "package-caches"
            | "elsewhere"
            | "shared-data"
            | "beside"
    );
    let changes = matches!(
        act,
        PathAction::Write | PathAction::Change | PathAction::ChangeTree | PathAction::Delete
    );
    match environment {
        Environment::Workstation | Environment::Production => false,
        Environment::Ci => {
            own || (changes && matches!(class, "system" | "system-whole" | "home-whole"))
        }
        Environment::Container => {
            own || (changes
                && !class.starts_with("countersign")
                && !matches!(class, "agent-hooks" | "device" | "memory" | "root" | "kernel"))
        }
    }
}
