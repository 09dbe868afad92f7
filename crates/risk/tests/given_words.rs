//! Values that a command gets from elsewhere: words given to a script, the environment, variables
//! that may be empty, and names of shells that are only named.

mod given_words {
    use countersign_risk::assess::assess;
    use countersign_risk::call::Call;
    use countersign_risk::verdict::Policy;
    use countersign_types::tier::Tier;

    fn tier(command: &str) -> Tier {
        assess(&Call::shell(command), &Policy::default()).tier
    }

    /// Whether a command is assessed at least as grave as the tier says.
    fn at_least(floor: Tier, commands: &[&str]) {
        for command in commands {
            let assessed = tier(command);
            assert!(assessed >= floor, "{assessed:?}: {command}");
        }
    }

    #[test]
    fn an_unknown_value_at_the_start_of_a_path_may_be_empty() {
        at_least(
            Tier::Medium,
            &[
                "cp hosts $DIR/etc/hosts",
                "echo x > $PREFIX/etc/ld.so.preload",
                "tee $(cat place)/etc/cron.d/job < job",
                "mv $DIR/usr/lib .",
                "chmod 777 ${OUT}/etc",
            ],
        );
        for command in ["mkdir -p $DIR/src", "cp a $DIR/lib.rs", "echo x > $DIR/out/log.txt"] {
            assert!(tier(command) <= Tier::Low, "{command}");
        }
    }

    #[test]
    fn a_script_is_read_with_the_words_it_is_given() {
        at_least(
            Tier::High,
            &[
                "echo 'cp x $1' > s.sh; bash s.sh /etc/hosts",
                "echo 'rm -rf \"$2\"' > s.sh; chmod +x s.sh; ./s.sh a ~",
                "echo 'rm -rf $1' > s.sh; . ./s.sh ~",
                "echo 'rm -rf \"$@\"' > s.sh; bash s.sh build; bash s.sh ~",
                "F=/etc/hosts python3 -c 'import os; open(os.environ[\"F\"], \"w\")'",
                "export F=/etc/hosts; node -e 'require(\"fs\").writeFileSync(process.env.F, \"\")'",
            ],
        );
    }

    #[test]
    fn a_shell_that_is_named_is_not_started() {
        for command in ["./prompter init bash", "./prompter init pwsh --config theme.json --print"]
        {
            assert!(tier(command) <= Tier::Low, "{command}");
        }
        at_least(
            Tier::High,
            &["./prompter bash -c 'rm -rf ~'", "./prompter init -- bash -c 'rm -rf ~'"],
        );
    }
}
