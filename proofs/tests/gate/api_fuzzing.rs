//! schemathesis reads the API's own document and sends what it promises to take, and what it does
//! not: no answer is a server error, none is undocumented.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use proof_skip::{Cause, skip};
use proofs::installation::{TestInstallation, UNLIMITED};
use serde_json::{Value, json};

use crate::fixture::{Fixture, report_figures, shared, size};

const DOCUMENT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/daemon/openapi.json"));
/// Installed by `./test`.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/schemathesis-venv/bin");
/// Two checks are left out: a schema cannot say all that the gate asks for, so what it allows may
/// still be refused; and 413 for a body that is too large is not among the refusals they know.
const LEFT_OUT: &str = "positive_data_acceptance,negative_data_rejection";
/// Deadlines so short that no request of the fuzzer waits long.
const SOON: &str = "[times]\nusual_seconds = 1\nlongest_seconds = 1\n";
/// These may end the credential that the rest of the run needs.
const APART: [&str; 4] =
    ["/v1/login", "/v1/people/{name}", "/v1/people/{name}/passphrase", "/v1/sessions/{session}"];

/// The operations of one API, as a document of their own.
fn served_at(endpoint: &str, apart: bool) -> Value {
    let mut document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let here = |operation: &Value| {
        [json!(endpoint), json!("both")].contains(&operation["x-api"]) || operation.is_array()
    };
    let paths = document["paths"].as_object_mut().unwrap();
    // A stream without end is no answer that could be held against anything.
    paths.retain(|path, _| APART.contains(&path.as_str()) == apart && path != "/v1/events");
    for operations in paths.values_mut() {
        operations.as_object_mut().unwrap().retain(|_, operation| here(operation));
    }
    paths.retain(|_, operations| operations.as_object().unwrap().values().any(Value::is_object));
    document
}

struct Visit<'a> {
    folder: &'a Path,
    program: PathBuf,
    examples: usize,
}

impl Visit<'_> {
    /// Sends invalid requests to an API and asserts that every answer keeps to the document.
    fn sends(&self, name: &str, endpoint: SocketAddr, token: &str, document: &Value) {
        let file = self.folder.join(format!("{name}.json"));
        fs::write(&file, document.to_string()).unwrap();
        let url = format!("http://{endpoint}");
        let who = format!("Authorization: Bearer {token}");
        let examples = self.examples.to_string();
        let (program, file) = (self.program.to_str().unwrap(), file.to_str().unwrap());
        let words = [
            "run",
            file,
            "--url",
            &url,
            "-H",
            &who,
            "--max-examples",
            &examples,
            "--phases",
            "examples,coverage,fuzzing",
            "--exclude-checks",
            LEFT_OUT,
            "--request-timeout",
            "20",
            "--suppress-health-check",
            "all",
            "--warnings",
            "off",
            "--generation-database",
            "none",
            "--no-color",
            "--seed",
            "7",
        ];
        // In the folder of this run: it leaves a cache behind.
        let out = Command::new(program).args(words).current_dir(self.folder).output().unwrap();
        let well = out.status.success();
        let out = String::from_utf8_lossy(&out.stdout).into_owned()
            + &String::from_utf8_lossy(&out.stderr);
        assert!(well, "{name}: {}", out.chars().take(20_000).collect::<String>());
        let count = out.lines().find(|line| line.contains("generated")).unwrap_or_default();
        report_figures(&format!("nonsense, {name}: {}", count.trim()));
    }
}

#[test]
fn nonsense_is_answered_as_the_document_says() {
    let _shared = shared();
    let program = Path::new(TOOLS).join("schemathesis");
    if !program.is_file() {
        return skip(Cause::Tool, "schemathesis is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let settings = format!("{UNLIMITED}{SOON}");
    let fixture = Fixture::new(TestInstallation::new(folder.path(), &settings).unwrap());
    let visit = Visit { folder: folder.path(), program, examples: size(10, 1000) };
    let (agents, people) = (fixture.gate.agents, fixture.gate.people);
    visit.sends("agents", agents, &fixture.agent, &served_at("agents", false));
    visit.sends("people", people, &fixture.owner, &served_at("people", false));
    assert_eq!(
        fixture.owner_client().get("/v1/me").unwrap().status,
        200,
        "the token held to the end"
    );
    visit.sends("stranger", people, "csp_nobody", &served_at("people", false));
    visit.sends("credentials", people, &fixture.owner, &served_at("people", true));
}
