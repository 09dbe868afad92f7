//! Names of tools that run what they are given, for tests.

use super::{HOSTS, Role, SERVERS, TOOL_NAMES, TOOLS, VARIANTS};

/// A name of every tool that runs what it is given and needs neither a server nor a host.
pub(in crate::tools) fn names_that_run() -> Vec<&'static str> {
    let all = TOOL_NAMES.first().copied().unwrap_or_default();
    let name = |index: usize| all.iter().find(|(.., at)| usize::from(*at) == index);
    let runs = TOOLS.iter().enumerate().filter(|(_, entry)| entry.runs_code());
    runs.filter_map(|(index, _)| name(index)).map(|(_, name, _)| *name).collect()
}

/// One way to name a tool that runs what it is given.
pub(in crate::tools) struct NameThatRuns {
    pub name: String,
    pub host: Option<&'static str>,
    pub when: Option<(&'static str, &'static str)>,
    pub args: &'static [(&'static str, Role)],
}

/// Every name of every tool that runs what it is given, also of those that belong to a server or
/// to an agent.
pub(in crate::tools) fn all_names_that_run() -> Vec<NameThatRuns> {
    let plain = TOOL_NAMES
        .iter()
        .zip(0u8..)
        .flat_map(|(names, group)| names.iter().map(move |(_, name, at)| (group, *name, *at)));
    let mut all = Vec::new();
    for (group, name, at) in plain.chain(VARIANTS.iter().copied()) {
        let Some(entry) = TOOLS.get(usize::from(at)).filter(|entry| entry.runs_code()) else {
            continue;
        };
        let server = SERVERS.iter().find(|(_, of)| *of == group).map(|(server, _)| *server);
        let host = HOSTS.iter().find(|(_, of)| *of == group).map(|(host, _)| *host);
        let when = entry.when.and_then(|(key, values)| Some((key, *values.first()?)));
        let name = server.map_or(name.to_owned(), |server| format!("mcp__{server}__{name}"));
        all.push(NameThatRuns { name, host, when, args: entry.args });
    }
    all
}
