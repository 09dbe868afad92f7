//! Which rules of a project count, where the daemon can look and where it cannot.

use countersign_types::time::Timestamp;

use super::*;
use crate::config::{DaemonConfig, Paths};
use crate::gate::AdoptedProject;

const RULES: &str = "[[policy.rule]]\nname = \"deploys\"\ndecision = \"allow\"\n\
    commands = [\"acmectl deploy\"]\n";

fn paths() -> Paths {
    let place = PathBuf::from("/s");
    Paths { config: place.clone(), state: place.clone(), runtime: place }
}

fn adopted(found: &CallProjects) -> Vec<bool> {
    let is_adopted = |one: &FoundRules| matches!(one, FoundRules::Rules { is_adopted: true, .. });
    found.0.iter().map(is_adopted).collect()
}

#[test]
fn where_the_daemon_cannot_look_the_adopted_text_counts_in_its_own_folder_only() {
    let rules = DaemonConfig::read("", &paths()).unwrap().rules;
    let projects = ProjectRules::default();
    let one = AdoptedProject {
        text: RULES.to_owned(),
        person: "ana".to_owned(),
        at: Timestamp(0).0,
        allows: true,
    };
    projects.adopted.replace([("/hidden/shop".to_owned(), one)].into(), "/hidden/shop");
    let found = |cwd: &str, is_hidden: bool, is_local: bool| {
        let text = Some(RULES.to_owned());
        let file = ProjectFile { folder: "/hidden/shop".to_owned(), text, problem: None };
        let observed = Some(ProjectLook { files: vec![file], ..ProjectLook::default() });
        let look = PlacesToLook {
            cwd: Some(cwd.into()),
            project: None,
            observed,
            is_local,
            is_unseen: false,
        };
        let own = ProjectLook { is_hidden, ..ProjectLook::default() };
        adopted(&projects.combine(own, &look, &rules))
    };
    assert_eq!(found("/hidden/shop", true, true), [true]);
    assert_eq!(found("/hidden/shop", true, false), [false], "an agent's own claim");
    assert_eq!(found("/hidden/shop", false, true), [false], "the daemon sees another file");
    assert_eq!(found("/hidden/shop/vendor", true, true), [false], "perhaps another repository");
    assert_eq!(found("/tmp", true, true), [false], "another folder");
}

#[test]
fn a_person_decides_about_an_edit_where_the_daemon_cannot_look() {
    let rules = DaemonConfig::read("", &paths()).unwrap().rules;
    let projects = ProjectRules::default();
    let found = |is_hidden: bool, is_unseen: bool| {
        let look = PlacesToLook {
            cwd: Some("/hidden/shop".into()),
            project: None,
            observed: None,
            is_local: true,
            is_unseen,
        };
        let own = ProjectLook { is_hidden, ..ProjectLook::default() };
        projects.combine(own, &look, &rules)
    };
    let ruling = |command: &str| {
        let call = countersign_risk::call::Call::shell(command);
        let seen = countersign_risk::assess::assess(&call, &rules.assessment);
        let time = countersign_policy::CallTime { hour: 12, weekday: 1 };
        found(true, true).rulings(&PolicyFacts::new(&call, &seen, false, time), &seen)
    };
    let rulings = ruling("terraform destroy");
    assert!(rulings[0].needs_person());
    assert!(rulings[0].reason.contains("may not enter this folder"), "{}", rulings[0].reason);
    assert!(ruling("ls").is_empty(), "a call that only reads");
    // The daemon looked itself, or the caller did and found nothing.
    assert!(found(false, true).is_empty() && found(true, false).is_empty());
}

#[test]
fn a_text_that_only_the_caller_brings_restricts_and_is_not_shown() {
    let text = "[[policy.rule]]\nname = \"approve-now\"\ndecision = \"ask\"\nquorum = 2\n\
        commands = [\"terraform destroy\"]\nreason = \"The owner checked it.\"\n";
    let rules = DaemonConfig::read("", &paths()).unwrap().rules;
    let projects = ProjectRules::default();
    let call = countersign_risk::call::Call::shell("terraform destroy");
    let seen = countersign_risk::assess::assess(&call, &rules.assessment);
    let time = countersign_policy::CallTime { hour: 12, weekday: 1 };
    let facts = PolicyFacts::new(&call, &seen, false, time);
    let file = || {
        let (folder, text) = ("/work/shop".to_owned(), Some(text.to_owned()));
        ProjectLook {
            files: vec![ProjectFile { folder, text, problem: None }],
            ..ProjectLook::default()
        }
    };
    let rulings = |own: ProjectLook, observed: Option<ProjectLook>| {
        let (cwd, is_local) = (Some("/work/shop".into()), true);
        let look = PlacesToLook { cwd, project: None, observed, is_local, is_unseen: false };
        projects.combine(own, &look, &rules).rulings(&facts, &seen)
    };
    let brought = rulings(ProjectLook::default(), Some(file()));
    assert!(brought[0].needs_person());
    assert_eq!(brought[0].quorum, Some(2));
    assert_eq!(brought[0].rules, [".countersign.toml"]);
    assert!(!brought[0].reason.contains("checked"), "{}", brought[0].reason);
    let found = rulings(file(), None);
    assert!(found[0].reason.contains("The owner checked it"), "{}", found[0].reason);
    assert_eq!(found[0].rules, ["project:approve-now"]);
    // An administrator read and adopted the text.
    let (text, person) = (text.to_owned(), "ana".to_owned());
    let one = AdoptedProject { text, person, at: Timestamp(0).0, allows: true };
    projects.adopted.replace([("/work/shop".to_owned(), one)].into(), "/work/shop");
    let adopted = rulings(ProjectLook::default(), Some(file()));
    assert_eq!(adopted[0].rules, ["project:approve-now"]);
}
