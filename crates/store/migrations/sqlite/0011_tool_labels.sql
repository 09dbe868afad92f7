-- MCP servers with the tools that they listed, and the labels that people gave to tools. A row of
-- labels counts only if the newest ledger entry about the server has its content.
CREATE TABLE mcp_server (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    name TEXT NOT NULL,
    address TEXT NOT NULL,
    tools TEXT NOT NULL,
    tool_count INTEGER NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    called INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX mcp_server_seen ON mcp_server (last_seen);

CREATE TABLE tool_label (
    server BLOB PRIMARY KEY CHECK (length(server) = 16),
    labels TEXT NOT NULL,
    person TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
