//! `mcp install` and `uninstall` in scratch homes; what `mcp` refuses.

use std::fs;
use std::process::{Output, Stdio};

use super::binary::{assert_refused, countersign, run, stderr, stdout};

const CONFIG: &str = "{\n  // mine\n  \"mcpServers\": {\n    \"files\": {\n      \"command\": \
                      \"npx\",\n      \"args\": [\"-y\", \"server\"],\n      \"env\": {}\n    }\n  \
                      }\n}\n";

#[test]
fn servers_go_behind_the_proxy_once_and_come_out_byte_by_byte() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, CONFIG).unwrap();
    let mcp = |words: &[&str]| -> Output {
        let mut command = countersign();
        command.arg("mcp").args(words).stdin(Stdio::null()).env("HOME", home.path());
        command.env_remove("XDG_STATE_HOME").output().unwrap()
    };
    let read = || fs::read_to_string(&file).unwrap();

    let shown = mcp(&["install", "cursor", "--dry-run"]);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    assert!(stdout(&shown).contains("\"--server\""), "{}", stdout(&shown));
    assert_eq!(read(), CONFIG);

    let done = mcp(&["install", "cursor", "--yes"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let written = read();
    assert!(written.contains("// mine") && written.contains("\"mcp\""), "{written}");
    assert!(stdout(&done).contains("backup"), "{}", stdout(&done));

    let again = mcp(&["install", "cursor", "--yes"]);
    assert!(stdout(&again).contains("already"), "{}", stdout(&again));
    assert_eq!(read(), written);

    let out = mcp(&["uninstall", "cursor", "--yes"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert_eq!(read(), CONFIG);
    // The file itself may be named.
    let path = file.display().to_string();
    assert_eq!(mcp(&["install", &path, "--yes"]).status.code(), Some(0));
    assert!(read().contains("\"--server\""));
    assert_refused(&mcp(&["install", "windsurf"]), "no file with servers");
    assert_refused(&mcp(&["install", "nobody"]), "nor one of claude");
}

#[test]
fn a_proxy_needs_a_server_and_listens_on_this_machine_only() {
    assert_refused(&run(&["mcp"]), "no server");
    assert_refused(&run(&["mcp", "--http", "http://127.0.0.1:1/mcp"]), "--listen");
    let listen = ["mcp", "--http", "http://127.0.0.1:1/mcp", "--listen", "0.0.0.0:0"];
    assert_refused(&run(&listen), "127.0.0.1");
    assert_refused(&run(&["mcp", "--", "/no/such/server"]), "/no/such/server");
}
