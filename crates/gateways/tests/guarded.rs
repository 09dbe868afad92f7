//! The rules know every agent of the list: neither its files nor its programs turn its gate off.

#[cfg(test)]
mod tests {
    use countersign_gateways::agents::{AGENTS, mcp_clients};
    use countersign_gateways::install::{HookCommand, InstallScope};
    use countersign_risk::assess::assess;
    use countersign_risk::call::Call;
    use countersign_risk::verdict::Policy;
    use countersign_types::tier::Tier;

    const HOME: &str = "/home/ana";

    fn tier(command: &str) -> Tier {
        let call = Call::shell(command);
        assess(&call, &Policy::default()).tier
    }

    #[test]
    fn the_files_of_a_gate_cannot_be_changed_without_a_person() {
        let command = HookCommand {
            program: "/usr/local/bin/countersign-hook".to_owned(),
            patience: 60,
            daemon_key: None,
        };
        let variables = |name: &str| (name == "HOME").then(|| HOME.to_owned());
        for agent in AGENTS {
            let scope = InstallScope::new(None, variables).expect("a scope");
            let edits = agent.file_edits(&scope, &command).expect("edits");
            assert!(!edits.is_empty(), "{} has no files", agent.name);
            for edit in edits {
                let path = edit.path.display().to_string().replace(HOME, "~");
                for attack in [format!("rm {path}"), format!("echo x > {path}")] {
                    let seen = tier(&attack);
                    assert!(seen >= Tier::High, "{}: {attack} is {seen:?}", agent.name);
                }
            }
        }
    }

    #[test]
    fn an_agent_started_without_its_gate_is_critical() {
        for agent in AGENTS {
            for program in agent.programs {
                let attack = format!("HOME=/tmp/x {program} run y");
                assert_eq!(tier(&attack), Tier::Critical, "{}: {attack}", agent.name);
            }
        }
    }

    #[test]
    fn a_list_of_mcp_servers_cannot_be_changed_without_a_person() {
        let mut open = Vec::new();
        for client in mcp_clients() {
            let home = client.home.iter().map(|file| format!("~/{file}"));
            let project = client.project.iter().map(|file| (*file).to_owned());
            for path in home.chain(project) {
                let path = path.replace(' ', "\\ ");
                for attack in [format!("rm {path}"), format!("echo x > {path}")] {
                    let seen = tier(&attack);
                    if seen < Tier::Medium {
                        open.push(format!("{}: {attack} is {seen:?}", client.name));
                    }
                }
            }
        }
        assert!(open.is_empty(), "{}", open.join("\n"));
    }
}
