//! MCP servers and the labels of their tools.

use countersign_json::canonical::Digest;
use countersign_ledger::entry::EntryKind;
use countersign_risk::tool_label::ToolLabel;
use countersign_store::{LabelledTool, ListedTool, ServerLabels, Store, StoredServer};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use rusqlite::{Connection, params};

use crate::setup::*;

fn server(number: u16, seen: i64) -> StoredServer {
    let mut id = [0; 16];
    id[..2].copy_from_slice(&number.to_be_bytes());
    StoredServer {
        id: Id::from_bytes(id),
        name: "weather".to_owned(),
        address: "weather-mcp".to_owned(),
        tools: vec![ListedTool {
            name: "zorp".to_owned(),
            description: "Zorps.".to_owned(),
            definition: Digest::of(b"zorp"),
            suggestion: None,
            deceptive: false,
        }],
        tool_count: 1,
        first_seen: Timestamp(seen),
        last_seen: Timestamp(seen),
        called: None,
    }
}

fn labels(server: Id, label: ToolLabel) -> ServerLabels {
    let tool = LabelledTool { tool: "zorp".to_owned(), definition: Digest::of(b"zorp"), label };
    ServerLabels { server, labels: vec![tool], person: "ana".to_owned(), at: Timestamp(START) }
}

pub async fn labels_survive_and_servers_without_labels_are_bounded<P: Fixture>() {
    let fixture = P::new();
    let store = fixture.open();
    store.save_server(server(1, 10)).await.unwrap();
    let called = StoredServer { called: Some(Timestamp(11)), ..server(1, 12) };
    store.save_server(called).await.unwrap();
    store.save_server(server(1, 13)).await.unwrap();
    let kept =
        StoredServer { first_seen: Timestamp(10), called: Some(Timestamp(11)), ..server(1, 13) };
    assert_eq!(store.servers().await.unwrap(), std::slice::from_ref(&kept));
    store.save_labels(labels(kept.id, ToolLabel::Reads), context()).await.unwrap();
    for number in 2..=400 {
        store.save_server(server(number, i64::from(number) + 100)).await.unwrap();
    }
    let servers = store.servers().await.unwrap();
    assert_eq!(servers.len(), 201);
    assert!(servers.contains(&kept), "a server with labels is not forgotten");
    store.save_labels(labels(kept.id, ToolLabel::Sends), context()).await.unwrap();
    assert_eq!(kinds(&store).await, [EntryKind::Label, EntryKind::Label]);
    store.close().await.unwrap();
    let found = fixture.open().labels().await.unwrap();
    assert_eq!(found, [labels(kept.id, ToolLabel::Sends)]);
}

#[test]
fn edited_and_inserted_labels_are_not_believed() {
    run(async {
        let fixture = SqliteFixture::new();
        let store = fixture.open();
        let (one, two) = (server(1, 10), server(2, 10));
        for server in [&one, &two] {
            store.save_server(server.clone()).await.unwrap();
        }
        store.save_labels(labels(one.id, ToolLabel::Reads), context()).await.unwrap();
        let reads: String = {
            let conn = Connection::open(fixture.file()).unwrap();
            conn.query_row("SELECT labels FROM tool_label", [], |row| row.get(0)).unwrap()
        };
        store.save_labels(labels(one.id, ToolLabel::Runs), context()).await.unwrap();
        assert_eq!(store.labels().await.unwrap(), [labels(one.id, ToolLabel::Runs)]);
        let conn = Connection::open(fixture.file()).unwrap();
        // The labels of before were replaced, and the ledger's newest entry says so.
        conn.execute("UPDATE tool_label SET labels = ?1", [&reads]).unwrap();
        assert_eq!(store.labels().await.unwrap(), []);
        // Nor does it help that the index no longer points to that entry, also after a restart.
        let hidden = "DELETE FROM story WHERE request = ?1 AND seq = \
                      (SELECT max(seq) FROM story WHERE request = ?1)";
        assert_eq!(conn.execute(hidden, [one.id.as_bytes()]).unwrap(), 1);
        assert_eq!(store.labels().await.unwrap(), []);
        drop(store);
        let store = fixture.open();
        assert_eq!(store.labels().await.unwrap(), []);
        // Labels of another server do not count for this one.
        let sql = "INSERT INTO tool_label VALUES (?1, ?2, 'ana', 1)";
        conn.execute(sql, params![two.id.as_bytes(), reads]).unwrap();
        assert_eq!(store.labels().await.unwrap(), []);
    });
}
