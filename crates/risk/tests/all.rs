//! All tests from outside in one program: each further program would be linked with all the rules.

macro_rules! test_files {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(#[path = $file] mod $name;)*

        const FILES: &[&str] = &[$($file),*];
    };
}

test_files! {
    answered_hosts_test: "answered_hosts.rs",
    attacks_test: "attacks.rs",
    basic_test: "basic.rs",
    dry_run_test: "dry_run.rs",
    entered_folders_test: "entered_folders.rs",
    fetched_code_test: "fetched_code.rs",
    git_work_trees_test: "git_work_trees.rs",
    given_words_test: "given_words.rs",
    leaving_data_test: "leaving_data.rs",
    milder_options_test: "milder_options.rs",
    noise_test: "noise.rs",
    noise_in_sentences_test: "noise_in_sentences.rs",
    option_values_test: "option_values.rs",
    protection_test: "protection.rs",
    rebuilt_folders_test: "rebuilt_folders.rs",
    runners_test: "runners.rs",
    seed_test: "seed.rs",
    session_test: "session.rs",
    session_secrets_test: "session_secrets.rs",
    shortened_options_test: "shortened_options.rs",
    structure_test: "structure.rs",
    tool_labels_test: "tool_labels.rs",
    two_readings_test: "two_readings.rs",
    unknown_programs_test: "unknown_programs.rs",
    unread_test: "unread.rs",
    unread_languages_test: "unread_languages.rs",
    whole_folders_test: "whole_folders.rs",
    workspace_test: "workspace.rs",
    written_files_test: "written_files.rs",
}

#[test]
fn every_file_of_this_folder_is_in_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.strip_suffix(".rs").is_some_and(|stem| stem != "all"))
        .collect();
    found.sort();
    let mut listed = FILES.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed, "add the file to `test_files!`, or it is never run");
}
