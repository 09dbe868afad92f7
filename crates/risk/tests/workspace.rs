//! Inline code and paths in a known workspace: judged by what they do, wherever the project is.

mod workspace {
    use countersign_risk::assess::assess;
    use countersign_risk::call::Call;
    use countersign_risk::verdict::Policy;
    use countersign_types::tier::Tier;

    fn tier(command: &str, project: Option<&str>) -> Tier {
        let mut call = Call::shell(command);
        call.context.project = project;
        call.context.cwd = project;
        assess(&call, &Policy::default()).tier
    }

    const PROJECTS: [&str; 5] =
        ["/home/ana/shop", "/workspaces/shop", "/app", "/private/var/folders/x/shop", "D:\\shop"];

    #[test]
    fn harmless_code_does_not_ask_in_a_workspace_and_asks_without_one() {
        for command in [
            "python3 -c 'print(1)'",
            "node -e \"console.log(require('./package.json').version)\"",
            "python3 - <<'EOF'\nimport json\nprint(json.load(open('a.json')))\nEOF",
            "bash -lc 'ls -la'",
        ] {
            for project in PROJECTS {
                assert!(tier(command, Some(project)) <= Tier::Low, "{project}: {command}");
            }
        }
        assert_eq!(tier("python3 -c 'print(1)'", None), Tier::Medium);
    }

    #[test]
    fn code_that_acts_or_is_not_all_known_asks() {
        for command in [
            "python3 -c \"import shutil; shutil.rmtree('/home/ana')\"",
            "python3 -c \"import shop; shop.delete_user(1)\"",
            "node -e \"require('rimraf').sync('/srv')\"",
            "node -e \"require('child_process').execSync('rm -rf ~')\"",
            "python3 -c \"$CODE\"",
            "python3 -c 'import os; os.system(input())'",
            "bash -c 'rm -rf ~/'",
            "cat > x.py <<'EOF'\nimport shutil\nshutil.rmtree('/home/ana')\nEOF\npython3 x.py",
        ] {
            for project in PROJECTS {
                assert!(tier(command, Some(project)) >= Tier::Medium, "{project}: {command}");
            }
        }
    }

    #[test]
    fn a_path_weighs_the_same_wherever_the_project_is() {
        for path in ["src/a.rs", "build", ".env", ".git/hooks/pre-commit", "../other/x"] {
            for verb in ["rm -rf", "echo x >", "cat", "chmod 777"] {
                let relative = tier(&format!("{verb} {path}"), Some("/app"));
                for project in ["/home/ana/shop", "/workspaces/shop", "/app"] {
                    if path.starts_with("..") {
                        continue;
                    }
                    let command = format!("{verb} {project}/{path}");
                    assert_eq!(tier(&command, Some(project)), relative, "{command}");
                }
            }
        }
    }

    #[test]
    fn no_project_makes_the_rest_of_the_machine_harmless() {
        for project in ["/", "/home/ana", "/etc", "/home/ana/.ssh", "~", "/usr"] {
            for command in ["rm -rf /home/ana", "cat /home/ana/.ssh/id_rsa", "rm -rf /etc"] {
                assert!(tier(command, Some(project)) >= Tier::High, "{project}: {command}");
            }
        }
    }
}
