//! Tests the SDKs: a gated function with the forbidden name must not run.

use std::process::Command;
use std::time::Duration;

use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_gateways::live::probe::{
    ProbeResult, ProgramOutput, find_program, run_with_input, shorten,
};

use super::check::{Check, TestedBy};
use crate::gate::reach::ProcessEnvironment;

/// The time to start an interpreter and to be refused.
const PATIENCE: Duration = Duration::from_secs(10);

/// One language.
struct Sdk {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    /// Prints `absent`, `other`, `ran`, or `refused` and the reason.
    script: &'static str,
    install: &'static str,
}

const SDKS: [Sdk; 2] = [
    Sdk {
        name: "Python SDK",
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
        name: "TypeScript SDK",
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

/// Tests each SDK that is installed here.
pub fn test(checks: &mut Vec<Check>, tested_by: TestedBy) {
    checks.extend(SDKS.iter().map(|sdk| sdk.test(tested_by)));
}

impl Sdk {
    fn test(&self, tested_by: TestedBy) -> Check {
        let path = ProcessEnvironment.get("PATH").unwrap_or_default();
        let Some(program) = find_program(self.program, &path) else {
            return self.absent(&format!("`{}` is not on the PATH", self.program));
        };
        let mut command = Command::new(program);
        if self.program == "python3" {
            // Only installed packages count, not those in the current folder.
            command.env("PYTHONSAFEPATH", "1").current_dir("/");
            if tested_by == TestedBy::Schedule {
                // Nor the user's own packages, which an agent could have written.
                command.arg("-I");
            }
        }
        command.args(self.arguments).arg(self.script);
        let result = match run_with_input(&mut command, String::new(), PATIENCE) {
            Ok(Some(output)) => interpret(&output),
            Ok(None) => {
                let seconds = PATIENCE.as_secs();
                Some(ProbeResult::Untested(format!("there was no answer within {seconds} s")))
            }
            Err(error) => Some(ProbeResult::Untested(error.to_string())),
        };
        match result {
            Some(result) => Check::of_gate(self.name, result, self.install),
            None => self.absent("it is not installed here"),
        }
    }

    /// A missing SDK is only a note, because not everyone uses one.
    fn absent(&self, why: &str) -> Check {
        Check::note(format!("{}: not tested: {why}.", self.name), self.install)
    }
}

/// The result of the script; `None` if the SDK is not installed.
fn interpret(output: &ProgramOutput) -> Option<ProbeResult> {
    let lines: Vec<&str> = output.out.lines().collect();
    let last = lines.last().map(|line| line.trim()).unwrap_or_default();
    if lines.iter().any(|line| line.trim() == "ran") {
        return Some(ProbeResult::Unprotected(
            "a gated function with the forbidden name ran".to_owned(),
        ));
    }
    match (output.code, last) {
        (Some(0), "absent" | "other") => None,
        (Some(0), refused) if refused.starts_with("refused ") => {
            Some(ProbeResult::Protected(shorten(refused.trim_start_matches("refused "))))
        }
        _ => {
            let why = output.err.trim().lines().last().unwrap_or_default();
            Some(ProbeResult::Untested(format!("the test failed with `{}`", shorten(why))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_means_protected_and_a_missing_sdk_has_no_result() {
        let said = |code: i32, out: &str| {
            let err = "why".to_owned();
            interpret(&ProgramOutput { code: Some(code), out: out.to_owned(), err })
        };
        assert_eq!(
            said(0, "refused not today\n"),
            Some(ProbeResult::Protected("not today".to_owned()))
        );
        assert!(matches!(said(0, "ran\n"), Some(ProbeResult::Unprotected(_))));
        assert!(matches!(said(0, "ran\nrefused late\n"), Some(ProbeResult::Unprotected(_))));
        assert_eq!(said(0, "absent\n"), None);
        for odd in [said(1, "absent\n"), said(0, ""), said(1, "refused x\n")] {
            assert!(matches!(odd, Some(ProbeResult::Untested(_))), "{odd:?}");
        }
    }
}
