//! The property list of launchd, as text.

use std::fmt::Write as _;

use super::spec::{LABEL, ServiceSpec};
use crate::failure::Failure;

/// The text of the property list.
pub fn launchd_plist(spec: &ServiceSpec) -> Result<String, Failure> {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n",
    );
    string(&mut text, "Label", LABEL)?;
    text.push_str("  <key>ProgramArguments</key>\n  <array>\n");
    for word in spec.command() {
        let _ = writeln!(text, "    <string>{}</string>", escaped(&word)?);
    }
    text.push_str("  </array>\n");
    if let Some(account) = &spec.account {
        string(&mut text, "UserName", &account.name)?;
        // With its groups the daemon may give the socket to the group of the agents.
        text.push_str("  <key>InitGroups</key>\n  <true/>\n");
    }
    // 63 is 0077 in octal.
    text.push_str("  <key>Umask</key>\n  <integer>63</integer>\n");
    for key in ["RunAtLoad", "KeepAlive"] {
        let _ = writeln!(text, "  <key>{key}</key>\n  <true/>");
    }
    let log = spec.log.display().to_string();
    string(&mut text, "StandardOutPath", &log)?;
    string(&mut text, "StandardErrorPath", &log)?;
    text.push_str(
        "  <key>HardResourceLimits</key>\n  <dict>\n    <key>Core</key>\n    \
         <integer>0</integer>\n  </dict>\n</dict>\n</plist>\n",
    );
    Ok(text)
}

fn string(text: &mut String, key: &str, value: &str) -> Result<(), Failure> {
    let _ = writeln!(text, "  <key>{key}</key>\n  <string>{}</string>", escaped(value)?);
    Ok(())
}

fn escaped(value: &str) -> Result<String, Failure> {
    if value.chars().any(char::is_control) {
        return Err(Failure::at(value, "control characters cannot be in a property list"));
    }
    Ok(value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_add_a_key() {
        let path = "/a</string><key>UserName</key>&";
        assert_eq!(escaped(path).unwrap(), "/a&lt;/string&gt;&lt;key&gt;UserName&lt;/key&gt;&amp;");
        assert!(escaped("/a\n").is_err());
    }
}
