//! `countersign inbox` end to end: a real daemon, a real terminal (tmux), real keys.

#[cfg(test)]
mod inbox {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Output, Stdio};
    use std::thread::{self, JoinHandle};
    use std::time::{Duration, Instant};

    use countersign_client::{
        AgentClient, CallRequest, DaemonKey, Endpoint, Filter, Outcome, PeopleClient, RequestStatus,
    };

    const HIGH: &str = "rm -rf /srv/build";
    const PATIENCE: Duration = Duration::from_secs(30);
    const MEDIUM: &str = "curl -X POST http://stats.example/y -d a=b";

    /// The built binary, away from the caller's own settings.
    fn countersign() -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        for name in ["PEOPLE", "AGENTS", "TOKEN", "AGENT_TOKEN", "CONFIG", "STATE"] {
            command.env_remove(format!("COUNTERSIGN_{name}"));
        }
        command.env("HOME", "/nonexistent").env_remove("XDG_RUNTIME_DIR");
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME").stdin(Stdio::null());
        command
    }

    /// A daemon in its own directory, and the owner's token.
    struct Daemon {
        child: Child,
        folder: tempfile::TempDir,
        people: String,
        socket: String,
        token: String,
    }

    impl Daemon {
        fn start() -> Daemon {
            let folder = tempfile::tempdir().unwrap();
            let (child, line) = serve(folder.path(), "127.0.0.1:0");
            let text = |name: &str| line[name].as_str().unwrap().to_owned();
            let people = text("people");
            let endpoint = Endpoint::parse(&people).unwrap();
            let token = PeopleClient::login(&endpoint, "owner", &text("passphrase")).unwrap().token;
            let file = folder.path().join("token");
            std::fs::write(&file, &token).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            Daemon { child, folder, socket: text("socket"), people, token }
        }

        fn person(&self) -> PeopleClient {
            PeopleClient::new(Endpoint::parse(&self.people).unwrap(), self.token.clone())
        }

        fn pending(&self) -> usize {
            let filter = Filter { state: Some(RequestStatus::Pending), ..Filter::default() };
            self.person().list(&filter).unwrap().requests.len()
        }

        /// The first of the two words of the only pending request.
        fn first_word(&self) -> String {
            let filter = Filter { state: Some(RequestStatus::Pending), ..Filter::default() };
            let requests = self.person().list(&filter).unwrap().requests;
            assert_eq!(requests.len(), 1);
            requests[0].phrase.split('-').next().unwrap().to_owned()
        }

        /// Asks about a command, and waits for the answer in another thread.
        fn ask(&self, command: &str) -> JoinHandle<Outcome> {
            let endpoint = Endpoint::parse(&format!("unix:{}", self.socket)).unwrap();
            let question = CallRequest::command(command);
            let key = DaemonKey::read(&self.folder.path().join("state/daemon.pub"));
            let agent = AgentClient::new(endpoint, None).trusting(key);
            thread::spawn(move || agent.ask(&question).unwrap())
        }

        fn token_file(&self) -> String {
            self.folder.path().join("token").display().to_string()
        }

        /// Runs the plain inbox with these lines as its input.
        fn plain(&self, lines: &str) -> Output {
            let mut command = countersign();
            command.args(["inbox", "--token-file", &self.token_file(), "--people", &self.people]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
            child.wait_with_output().unwrap()
        }

        fn stop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    impl Drop for Daemon {
        fn drop(&mut self) {
            self.stop();
        }
    }

    fn serve(folder: &Path, people: &str) -> (Child, serde_json::Value) {
        let mut command = countersign();
        command.args(["serve", "--json", "--print-passphrase"]);
        command.args(["--agents", "127.0.0.1:0", "--people", people]);
        command.arg("--state").arg(folder.join("state")).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let line = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        (child, line)
    }

    /// A terminal with the inbox; its shell stays when the inbox ends.
    struct Screen {
        socket: PathBuf,
    }

    impl Screen {
        fn open(daemon: &Daemon, variables: &str) -> Screen {
            Screen::with(daemon, variables, "inbox")
        }

        fn with(daemon: &Daemon, variables: &str, command: &str) -> Screen {
            let screen = Screen { socket: daemon.folder.path().join("tmux") };
            let line = format!(
                "{variables} {} {command} --people {} --token-file {}; echo left $?; \
                 stty -a | grep -o '[-]*icanon'; cat",
                env!("CARGO_BIN_EXE_countersign"),
                daemon.people,
                daemon.token_file(),
            );
            screen.tmux(&["new-session", "-d", "-s", "i", "-x", "80", "-y", "24", &line]);
            screen
        }

        fn tmux(&self, args: &[&str]) -> String {
            let mut command = Command::new("tmux");
            command.arg("-f").arg("/dev/null").arg("-S").arg(&self.socket).args(args);
            command.env_remove("TMUX").env_remove("COUNTERSIGN_TOKEN").env("LC_ALL", "C.UTF-8");
            let output = command.stdin(Stdio::null()).output().unwrap();
            assert!(output.status.success(), "{args:?}: {output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        }

        fn text(&self) -> String {
            self.tmux(&["capture-pane", "-p", "-t", "i"])
        }

        fn keys(&self, keys: &[&str]) {
            for key in keys {
                self.tmux(&["send-keys", "-t", "i", key]);
            }
        }

        /// Waits until a text is on the screen.
        fn wait_for(&self, what: &str) {
            let fits = |text: &str| text.contains(what);
            assert!(self.becomes(fits, PATIENCE), "no {what:?}:\n{}", self.text());
        }

        /// Whether the screen becomes like this within a time.
        fn becomes(&self, fits: impl Fn(&str) -> bool, time: Duration) -> bool {
            let end = Instant::now() + time;
            while !fits(&self.text()) {
                if Instant::now() > end {
                    return false;
                }
                thread::sleep(Duration::from_millis(20));
            }
            true
        }

        /// Presses a key until the screen is like this: a card that just appeared accepts no
        /// approval.
        fn press_until(&self, key: &str, fits: impl Fn(&str) -> bool) {
            let end = Instant::now() + PATIENCE;
            while !fits(&self.text()) {
                assert!(Instant::now() < end, "{key} does not help:\n{}", self.text());
                self.keys(&[key]);
                self.becomes(&fits, Duration::from_secs(1));
            }
        }

        /// The inbox that runs in it.
        fn process(&self) -> String {
            let shell = self.tmux(&["display-message", "-p", "-t", "i", "#{pane_pid}"]);
            let shell = shell.trim();
            let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
            children.unwrap().split_whitespace().next().unwrap().to_owned()
        }
    }

    impl Drop for Screen {
        fn drop(&mut self) {
            let mut command = Command::new("tmux");
            let _ = command.arg("-S").arg(&self.socket).arg("kill-server").output();
        }
    }

    fn has_tmux() -> bool {
        let found = Command::new("tmux").arg("-V").output().is_ok();
        if !found {
            proof_skip::skip(proof_skip::Cause::Tool, "tmux is not installed");
        }
        found
    }

    #[test]
    fn a_person_sees_requests_and_decides_with_a_few_keys() {
        if !has_tmux() {
            return;
        }
        let daemon = Daemon::start();
        daemon.person().report_presence().unwrap();
        let screen = Screen::open(&daemon, "");
        screen.wait_for("No pending requests.");

        let asked = daemon.ask(HIGH);
        screen.wait_for(HIGH);
        screen.keys(&["Enter", "Enter", "Enter", "y", "Enter", "Escape", "Enter"]);
        // Keys are handled in order: with the prompt on the screen, those before it are done.
        let is_asking = |text: &str| text.contains("It is HIGH: type");
        screen.press_until("a", is_asking);
        assert_eq!(daemon.pending(), 1, "Enter approves nothing:\n{}", screen.text());
        screen.press_until("Enter", |text| text.contains("nothing was approved"));
        screen.keys(&["y"]);
        screen.wait_for("› y");
        screen.press_until("Enter", |text| is_asking(text) && !text.contains("› y"));
        assert_eq!(daemon.pending(), 1, "y does not approve HIGH:\n{}", screen.text());
        // Letter by letter: tmux takes some words, such as "home", for the name of a key.
        for letter in daemon.first_word().chars() {
            screen.keys(&[&letter.to_string()]);
        }
        screen.keys(&["Enter"]);
        assert!(matches!(asked.join().unwrap(), Outcome::Approved(_)));
        screen.wait_for("approved by owner");

        let asked = daemon.ask("rm -rf /srv/other");
        screen.wait_for("$ rm -rf /srv/other");
        screen.press_until("d", |text| text.contains("Enter denies."));
        screen.keys(&["not", "Space", "today", "Enter"]);
        let Outcome::Denied(request) = asked.join().unwrap() else { panic!("it was not denied") };
        assert_eq!(request.reason(), "not today");
    }

    #[test]
    fn one_key_freezes_everything() {
        if !has_tmux() {
            return;
        }
        let daemon = Daemon::start();
        let screen = Screen::open(&daemon, "");
        let asked = daemon.ask(HIGH);
        screen.wait_for(HIGH);
        screen.keys(&["F"]);
        screen.wait_for("Frozen. Every call is refused");
        assert!(matches!(asked.join().unwrap(), Outcome::Denied(_)));
        assert_eq!(daemon.pending(), 0);
    }

    #[test]
    fn two_keys_approve_a_low_tier() {
        if !has_tmux() {
            return;
        }
        let daemon = Daemon::start();
        let screen = Screen::open(&daemon, "NO_COLOR=1");
        let asked = daemon.ask(MEDIUM);
        screen.wait_for("$ curl");
        let coloured = screen.tmux(&["capture-pane", "-pe", "-t", "i"]);
        assert!(!coloured.contains("38;5") && !coloured.contains("48;5"), "{coloured:?}");
        screen.press_until("a", |text| text.contains("y approve"));
        screen.keys(&["y"]);
        assert!(matches!(asked.join().unwrap(), Outcome::Approved(_)));
    }

    #[test]
    fn it_survives_small_screens_and_a_stopped_daemon_and_restores_the_terminal() {
        if !has_tmux() {
            return;
        }
        let mut daemon = Daemon::start();
        let screen = Screen::open(&daemon, "");
        let _asked = daemon.ask(HIGH);
        screen.wait_for(HIGH);
        screen.tmux(&["resize-window", "-t", "i", "-x", "20", "-y", "5"]);
        screen.wait_for("1 pending");
        screen.tmux(&["resize-window", "-t", "i", "-x", "120", "-y", "40"]);
        screen.wait_for("│");
        daemon.stop();
        screen.wait_for("the daemon does not respond");
        (daemon.child, _) = serve(daemon.folder.path(), &daemon.people);
        screen.wait_for(HIGH);
        let is_back = screen.becomes(|text| !text.contains("does not respond"), PATIENCE);
        assert!(is_back, "{}", screen.text());
        let process = screen.process();
        assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
        screen.wait_for("left 0");
        // A second program says this one: it may come a moment later.
        screen.wait_for("icanon");
        let text = screen.text();
        assert!(text.lines().any(|line| line == "icanon"), "{text}");
        assert!(!text.contains(HIGH), "the screen is given back: {text}");
    }

    #[test]
    fn several_are_approved_together_only_below_high() {
        if !has_tmux() {
            return;
        }
        let daemon = Daemon::start();
        let medium = daemon.ask(MEDIUM);
        let _high = daemon.ask(HIGH);
        while daemon.pending() < 2 {
            thread::sleep(Duration::from_millis(10));
        }
        let screen = Screen::with(&daemon, "", "approve --all");
        screen.wait_for("Approve these 1?");
        screen.keys(&["y", "Enter"]);
        screen.wait_for("HIGH. To approve, type ");
        screen.keys(&["Enter"]);
        screen.wait_for("1 of 2 approved.");
        assert!(matches!(medium.join().unwrap(), Outcome::Approved(_)));
        assert_eq!(daemon.pending(), 1, "a bare Enter leaves it waiting");
    }

    #[test]
    fn without_a_terminal_it_asks_line_by_line_and_silence_leaves_it_pending() {
        let daemon = Daemon::start();
        let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text(&daemon.plain("")).contains("No pending requests."));
        let medium = daemon.ask(MEDIUM);
        while daemon.pending() < 1 {
            thread::sleep(Duration::from_millis(10));
        }
        for silence in ["", "\n", "maybe\n", "y"] {
            let output = daemon.plain(silence);
            assert!(text(&output).contains("still pending"), "{}", text(&output));
            assert_eq!(daemon.pending(), 1, "{silence:?}");
        }
        let high = daemon.ask(HIGH);
        while daemon.pending() < 2 {
            thread::sleep(Duration::from_millis(10));
        }
        let output = daemon.plain("\n");
        assert!(text(&output).contains("2 pending. Approve the 1 requests below HIGH? [y/N/show]"));
        assert!(text(&output).contains("Nothing was approved; all 2 stay pending."));
        assert_eq!(daemon.pending(), 2);
        let output = daemon.plain("y\ny\ny\ny\n");
        assert!(text(&output).contains("1 of 1 approved."), "{}", text(&output));
        assert!(text(&output).contains("decide it in a terminal"), "{}", text(&output));
        assert!(matches!(medium.join().unwrap(), Outcome::Approved(_)));
        assert_eq!(daemon.pending(), 1, "what is HIGH is not approved by a pipe");
        let asked = daemon.ask(MEDIUM);
        while daemon.pending() < 2 {
            thread::sleep(Duration::from_millis(10));
        }
        let output = daemon.plain("show\nn\n");
        assert!(text(&output).contains("denied by owner"), "{}", text(&output));
        assert!(matches!(asked.join().unwrap(), Outcome::Denied(_)));
        drop(high);
    }
}
