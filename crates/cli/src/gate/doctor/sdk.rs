//! The SDKs' door: a gated function with the forbidden name, which must not run.

use std::process::Command;
use std::time::Duration;

use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_gateways::live::find;
use countersign_gateways::live::knock::{self, Found, Said, short};

use super::{Check, Looked};
use crate::gate::reach::ProcessEnvironment;

/// To start an interpreter and to be refused.
const PATIENCE: Duration = Duration::from_secs(10);

/// One language.
struct Sdk {
    door: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    /// Says `absent`, `other`, `ran`, or `refused` and why.
    script: &'static str,
    install: &'static str,
}

const SDKS: [Sdk; 2] = [
    Sdk {
        door: "Python SDK",
        program: "python3",
        arguments: &["-c"],
        script: "\
try:
    import countersign
except ImportError:
    raise SystemExit(print('absent'))
if not hasattr(countersign, 'gated') or not hasattr(countersign, 'NotApproved'):
    raise SystemExit(print('other'))
@countersign.gated
def countersign_proof_of_gate():
    print('ran')
try:
    countersign_proof_of_gate()
except countersign.CountersignError as error:
    print('refused', ' '.join(str(error).split()))
",
        install: "pip install ./sdk/python where the program runs",
    },
    Sdk {
        door: "TypeScript SDK",
        program: "node",
        arguments: &["--input-type=module", "-e"],
        script: "\
let sdk;
try {
  sdk = await import('countersign');
} catch (error) {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  console.log('absent');
  process.exit(0);
}
if (!sdk.gated || !sdk.NotApproved) {
  console.log('other');
  process.exit(0);
}
const proof = sdk.gated(async () => console.log('ran'), { tool: 'countersign_proof_of_gate' });
try {
  await proof({});
} catch (error) {
  if (!(error instanceof sdk.NotApproved)) throw error;
  console.log('refused', error.message.replace(/\\s+/g, ' '));
}
",
        install: "npm install it where the program runs, and run doctor in that folder",
    },
];

/// Tries each SDK that can be found from here.
pub fn knock(checks: &mut Vec<Check>, looked: Looked) {
    checks.extend(SDKS.iter().map(|sdk| sdk.tried(looked)));
}

impl Sdk {
    fn tried(&self, looked: Looked) -> Check {
        let path = ProcessEnvironment.get("PATH").unwrap_or_default();
        let Some(program) = find(self.program, &path) else {
            return self.absent(&format!("there is no {} on the PATH", self.program));
        };
        let mut command = Command::new(program);
        if self.program == "python3" {
            // Only what is installed counts, not what lies in this folder.
            command.env("PYTHONSAFEPATH", "1").current_dir("/");
            if looked == Looked::ByItself {
                // Nor what an agent could have put into the user's own packages.
                command.arg("-I");
            }
        }
        command.args(self.arguments).arg(self.script);
        let found = match knock::run(&mut command, String::new(), PATIENCE) {
            Ok(Some(said)) => judged(&said),
            Ok(None) => {
                let seconds = PATIENCE.as_secs();
                Some(Found::NeverTested(format!("no answer came within {seconds} s")))
            }
            Err(error) => Some(Found::NeverTested(error.to_string())),
        };
        match found {
            Some(found) => Check::tried(self.door, found, self.install),
            None => self.absent("it is not installed here"),
        }
    }

    /// Nothing to be alarmed about: not everybody writes programs.
    fn absent(&self, why: &str) -> Check {
        Check::note(format!("{}: never tested: {why}.", self.door), self.install)
    }
}

/// What the script said; nothing if the SDK is not there.
fn judged(said: &Said) -> Option<Found> {
    let lines: Vec<&str> = said.out.lines().collect();
    let last = lines.last().map(|line| line.trim()).unwrap_or_default();
    if lines.iter().any(|line| line.trim() == "ran") {
        return Some(Found::Open("a gated function with the forbidden name ran".to_owned()));
    }
    match (said.code, last) {
        (Some(0), "absent" | "other") => None,
        (Some(0), refused) if refused.starts_with("refused ") => {
            Some(Found::Shut(short(refused.trim_start_matches("refused "))))
        }
        _ => {
            let why = said.err.trim().lines().last().unwrap_or_default();
            Some(Found::NeverTested(format!("the test ended with `{}`", short(why))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_is_a_shut_door_and_an_sdk_that_is_not_there_is_none() {
        let said = |code: i32, out: &str| {
            judged(&Said { code: Some(code), out: out.to_owned(), err: "why".to_owned() })
        };
        assert_eq!(said(0, "refused not today\n"), Some(Found::Shut("not today".to_owned())));
        assert!(matches!(said(0, "ran\n"), Some(Found::Open(_))));
        assert!(matches!(said(0, "ran\nrefused late\n"), Some(Found::Open(_))));
        assert_eq!(said(0, "absent\n"), None);
        for odd in [said(1, "absent\n"), said(0, ""), said(1, "refused x\n")] {
            assert!(matches!(odd, Some(Found::NeverTested(_))), "{odd:?}");
        }
    }
}
