//! `docs/agents` describes exactly the agents of the list.
//!
//! `UPDATE_GOLDEN=1 cargo test -p countersign-gateways --test docs` rewrites the generated table.

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;
    use std::path::{Path, PathBuf};

    use countersign_gateways::agents::{AGENTS, AgentDescriptor, HookAgent, mcp_clients};

    const BEGIN: &str = "<!-- agents: generated from crates/gateways/src/agents -->\n";
    const END: &str = "<!-- end of agents -->\n";

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn read(path: &str) -> String {
        fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn row(agent: &AgentDescriptor) -> String {
        let HookAgent { name, title, .. } = agent.hook_agent;
        let gate = if agent.plugin.is_some() { "plugin" } else { "hook" };
        let project = if agent.setup.per_project { "yes" } else { "no" };
        let waits = match agent.setup.timeout_seconds {
            86_400 => "1 day".to_owned(),
            seconds => format!("{} min", seconds / 60),
        };
        let version = agent.tested_version.unwrap_or("never run");
        let live = if agent.live.is_some() { "yes" } else { "no" };
        format!(
            "| [{title}]({name}.md) | `countersign install {name}` | {gate} | {project} | {waits} | \
             {version} | {live} |\n"
        )
    }

    fn table() -> String {
        let mut text = String::from(
            "\n| agent | command | gate | per project | waits for an answer | tested version | \
             `doctor --live` |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        );
        text.extend(AGENTS.into_iter().map(row));
        text.push_str("\nLimits that the installer prints:\n\n");
        for agent in AGENTS {
            for limit in agent.limits {
                let _ = writeln!(text, "- {limit}");
            }
        }
        let clients: Vec<String> =
            mcp_clients().map(|client| format!("`{}`", client.name)).collect();
        let _ = writeln!(text, "\n`countersign mcp install` knows {}.\n", clients.join(", "));
        text
    }

    #[test]
    fn the_table_lists_every_agent() {
        let path = "docs/agents/README.md";
        let text = read(path);
        let (before, rest) = text.split_once(BEGIN).expect("the begin of the table");
        let (old, after) = rest.split_once(END).expect("the end of the table");
        let new = table();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let whole = format!("{before}{BEGIN}{new}{END}{after}");
            fs::write(root().join(path), whole).unwrap();
        } else {
            assert_eq!(old, new, "UPDATE_GOLDEN=1 cargo test -p countersign-gateways --test docs");
        }
    }

    #[test]
    fn every_agent_has_a_page_with_its_command() {
        for agent in AGENTS {
            let page = read(&format!("docs/agents/{}.md", agent.name));
            assert!(page.starts_with(&format!("# {}\n", agent.title)), "{}", agent.name);
            let command = format!("countersign install {}", agent.name);
            assert!(page.contains(&command), "{}: {command}", agent.name);
            if let Some(version) = agent.tested_version {
                let readme = read("docs/agents/README.md");
                assert!(readme.contains(version), "{}: {version}", agent.name);
            }
        }
        let pages = fs::read_dir(root().join("docs/agents")).unwrap().count();
        assert_eq!(pages, AGENTS.len() + 1, "a page without an agent");
    }

    #[test]
    fn the_readme_names_every_agent() {
        let readme = read("README.md").to_lowercase();
        for agent in AGENTS {
            assert!(readme.contains(agent.name), "{}", agent.name);
        }
    }
}
