//! The daemon alone, for tests: `gate FOLDER` prints its addresses and serves until SIGTERM.

use std::path::PathBuf;
use std::process::ExitCode;

use countersign_daemon::Daemon;
use countersign_daemon::config::{DaemonConfig, Paths};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1).filter(|word| !word.to_string_lossy().starts_with('-'));
    let Some(folder) = folder.map(PathBuf::from) else {
        eprintln!("gate FOLDER");
        return ExitCode::from(2);
    };
    let made = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ran = made.map_err(|error| error.to_string()).and_then(|runtime| {
        let ran = runtime.block_on(serve(folder));
        runtime.shutdown_background();
        ran
    });
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(folder: PathBuf) -> Result<(), String> {
    let paths = Paths {
        config: folder.join("countersign.toml"),
        state: folder.join("state"),
        runtime: folder.join("run"),
    };
    let config = DaemonConfig::load(&paths).map_err(|error| error.to_string())?;
    let mut term = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let mut daemon = Daemon::open(config, paths).await.map_err(|error| error.to_string())?;
    let notice = daemon.notice();
    let told = serde_json::json!({
        "agents": notice.agents,
        "people": notice.people,
        "socket": notice.socket,
        "passphrase": notice.passphrase.as_ref().map(|text| text.as_str()),
    });
    println!("{told}");
    let until = async move {
        term.recv().await;
    };
    daemon.serve(until).await.map_err(|error| error.to_string())
}
