//! The rules of a project: they restrict at once, and allow only after a person adopted them.

#[cfg(test)]
mod project {
    use countersign_policy::{
        CallTime, PolicyFacts, ProjectPolicy, apply_ruling, strictest, unreadable_project,
    };
    use countersign_risk::assess::{Assessment, assess};
    use countersign_risk::call::Call;
    use countersign_risk::policy_ruling::{PolicyRuling, RuleDecision};
    use countersign_risk::verdict::{Policy, Verdict};
    use countersign_types::tier::Tier;

    const TEXT: &str = r#"
        [policy]
        permit_up_to = "MEDIUM"

        [[policy.rule]]
        name = "no-destroy"
        decision = "deny"
        commands = ["terraform destroy"]

        [[policy.rule]]
        name = "infra"
        decision = "ask"
        paths = ["./infra"]

        [[policy.rule]]
        name = "deploys"
        decision = "allow"
        commands = ["acmectl deploy"]

        [[policy.test]]
        call = "terraform destroy"
        expect = "deny"

        [[policy.test]]
        call = "acmectl deploy"
        expect = "allow"
    "#;

    fn rules(permit_up_to: Tier) -> ProjectPolicy {
        ProjectPolicy::compile("/srv/shop", TEXT, permit_up_to).unwrap()
    }

    fn decided(
        rules: &ProjectPolicy,
        command: &str,
        is_adopted: bool,
    ) -> (Assessment, Vec<String>) {
        let mut call = Call::shell(command);
        call.context.cwd = Some("/srv/shop/src");
        let mut seen = assess(&call, &Policy::default());
        let facts = PolicyFacts::new(&call, &seen, false, CallTime::default());
        let ruling = rules.decide(&facts, &seen, is_adopted).ruling;
        let names = ruling.as_ref().map(|ruling| ruling.rules.clone()).unwrap_or_default();
        if let Some(ruling) = ruling {
            apply_ruling(ruling, &mut seen);
        }
        (seen, names)
    }

    #[test]
    fn only_rules_that_restrict_count_until_the_file_is_adopted() {
        let rules = rules(Tier::Medium);
        for is_adopted in [false, true] {
            let (seen, names) = decided(&rules, "sudo terraform destroy", is_adopted);
            assert_eq!((seen.verdict, names), (Verdict::Deny, vec!["project:no-destroy".into()]));
            // A path of the project, written relative to its root.
            let (seen, names) = decided(&rules, "touch ../infra/main.tf", is_adopted);
            assert_eq!((seen.verdict, names), (Verdict::Ask, vec!["project:infra".into()]));
        }
        let (seen, names) = decided(&rules, "acmectl deploy", false);
        assert_eq!((seen.verdict, names), (Verdict::Ask, Vec::new()));
        let (seen, names) = decided(&rules, "acmectl deploy", true);
        assert_eq!((seen.verdict, names), (Verdict::Allow, vec!["project:deploys".into()]));
        assert_eq!(rules.allowing_rules(), 1);
        assert!(rules.waiting_sentence().unwrap().contains("countersign policy adopt /srv/shop"));
        assert_eq!(rules.run_cases(&Policy::default()), []);
    }

    #[test]
    fn a_project_allows_no_more_than_the_organisation_lets_rules_allow() {
        let (seen, names) = decided(&rules(Tier::Low), "acmectl deploy", true);
        assert_eq!((seen.verdict, names), (Verdict::Ask, Vec::new()));
    }

    #[test]
    fn a_file_with_something_unknown_is_invalid() {
        for text in [
            "mode = \"observe\"",
            "[policy]\nenabled = false",
            "[[policy.rule]]\nname = \"a\"\ndecision = \"deny\"",
            "[[policy.rule]]\nname = \"a\"\ndecision = \"maybe\"\ncommands = [\"ls\"]",
            "[policy]\npermit_up_to = \"CRITICAL\"",
            "[[policy.rule",
        ] {
            let error = ProjectPolicy::compile("/srv/shop", text, Tier::Low).unwrap_err();
            assert!(error.to_string().contains(".countersign.toml"), "{text}: {error}");
        }
        let many = "[[policy.rule]]\nname = \"a\"\n".repeat(201);
        assert!(ProjectPolicy::compile("/srv/shop", &many, Tier::Low).is_err());
        assert!(ProjectPolicy::compile("/srv/shop", "", Tier::Low).is_ok());
    }

    #[test]
    fn the_strictest_ruling_decides() {
        let ruling = |decision, name: &str, quorum| PolicyRuling {
            decision,
            rules: vec![name.to_owned()],
            reason: String::new(),
            quorum,
            route: Vec::new(),
            assurance: None,
        };
        let allowed = ruling(RuleDecision::Allowed, "allow", None);
        let asked = |name, quorum| ruling(RuleDecision::Asked, name, quorum);
        let failed = unreadable_project("/srv/shop", "it is a symbolic link");
        assert_eq!(failed.reason, "/srv/shop/.countersign.toml: it is a symbolic link");
        let denied = ruling(RuleDecision::Denied, "deny", None);
        let all = vec![allowed.clone(), asked("a", None), failed.clone(), denied.clone()];
        assert_eq!(strictest(all), Some(denied));
        let both = strictest(vec![asked("a", None), allowed.clone(), asked("b", Some(2))]).unwrap();
        assert_eq!((both.rules, both.quorum), (vec!["a".to_owned(), "b".to_owned()], Some(2)));
        assert_eq!(strictest(vec![allowed, failed.clone()]), Some(failed));
        assert_eq!(strictest(Vec::new()), None);
    }
}
