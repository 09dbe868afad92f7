//! What runs an approved task: a program, an HTTP endpoint or a tool of an MCP server.

use serde_json::Value;

use crate::endpoint::TaskEndpoint;
use crate::mcp_tool::McpTool;
use crate::program::TaskProgram;
use crate::task::DelegatedTask;

/// What runs tasks.
#[derive(Debug, Clone)]
pub enum TaskExecutor {
    /// A program on this machine.
    Program(TaskProgram),
    /// An HTTP endpoint.
    Endpoint(TaskEndpoint),
    /// A tool of an MCP server.
    Mcp(McpTool),
}

impl TaskExecutor {
    /// Runs a task and returns its artifact, or why it failed.
    pub async fn run(&self, task: &DelegatedTask, text: &str) -> Result<Value, String> {
        match self {
            TaskExecutor::Program(program) => program.run(task, text).await,
            TaskExecutor::Endpoint(endpoint) => endpoint.run(task, text).await,
            TaskExecutor::Mcp(tool) => tool.run(task, text).await,
        }
    }
}
