//! Configurations as people have them.

/// Those of one agent.
pub fn samples(agent: &str) -> Vec<&'static str> {
    match agent {
        "claude" => vec![
            "",
            "{}",
            "{}\n",
            "{\n  \"model\": \"opus\"\n}\n",
            "{\n\t\"permissions\": { \"allow\": [\"Bash(git:*)\"] },\n\t\"env\": {}\n}\n",
            "{ \"hooks\": {} }",
            "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\
             \"command\":\"/usr/bin/lint.sh\"}]}],\"Stop\":[]},\"model\":\"opus\"}",
            "{\n  \"hooks\": {\n    \"PostToolUse\": [\n      {\n        \
             \"matcher\": \"Edit|Write\",\n        \"hooks\": [\n          \
             { \"type\": \"command\", \
             \"command\": \"prettier --write\", \"timeout\": 5 }\n        ]\n      }\n    ]\n  \
             },\n  \
             \"statusLine\": { \"type\": \"command\", \"command\": \"x\" }\n}\n",
            "{\r\n  \"model\": \"opus\",\r\n  \"hooks\": {}\r\n}\r\n",
        ],
        "codex" => vec![
            "",
            "{\"hooks\":{}}",
            "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \"Bash\", \"hooks\": \
             [{ \"type\": \"command\", \"command\": \"./check.py\" }] }\n    ]\n  }\n}\n",
        ],
        "gemini" => vec![
            "",
            "{\n  /* keep */\n  \"hooks\": {\n    \"AfterTool\": [ // after\n      {\n        \
             \"matcher\": \"write_file\",\n        \"hooks\": [\n          { \"type\": \
             \"command\", \"command\": \"prettier --write\", \"timeout\": 5 }\n        ]\n      \
             }\n    ]\n  },\n  \"ui\": { \"theme\": \"x\" }\n  // mine\n}\n",
            "{\n  // Google\n  \
             \"security\": { \"auth\": { \"selectedType\": \"gemini-api-key\" } },\n  \
             \"hooks\": { \"BeforeTool\": [] }\n}\n",
            "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}",
        ],
        "cursor" => vec![
            "",
            "{ \"version\": 1, \"hooks\": { \"afterFileEdit\": [{ \"command\": \"a.sh\" }] } }\n",
            "{\n  \"version\": 1,\n  \"hooks\": {\n    \"preToolUse\": [\n      { \"command\": \
             \"mine.sh\", \"failClosed\": true }\n    ]\n  }\n}\n",
        ],
        "openclaw" => vec![
            "",
            "{\n  // my bot\n  agents: { defaults: { model: 'x' } },\n  plugins: {\n    allow: \
             ['telegram'],\n    entries: { telegram: { enabled: true } },\n  },\n}\n",
            "{\"plugins\":{\"load\":{\"paths\":[\"/opt/other\"]}}}",
        ],
        "hermes" => vec![
            "",
            "model: x\n",
            "model: x\n# mine\nplugins:\n  enabled:\n    - other # good\n  disabled: []\n\
             terminal:\n  a: 1\n",
            "plugins:\n  enabled: [a, 'b']  # two\nmodel: x\n",
            "plugins:\n  enabled:\n  - a\n  - b\n\nmodel: |\n  plugins: no\n",
            "plugins:\n  disabled:\n  - a\n",
            "plugins:\n",
            "a: 1\nplugins:\n  enabled: []",
        ],
        _ => vec![""],
    }
}
