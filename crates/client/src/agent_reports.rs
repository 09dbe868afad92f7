//! The client of the agent API: reports how calls ended.

use crate::agent::{AgentClient, TIMEOUT};
use crate::encoding::path_segment;
use crate::error::Error;
use crate::report::{ReportStatus, RunReport};
use crate::request::RequestRecord;

impl AgentClient {
    /// Reports the outcome of a call.
    pub fn report(
        &self,
        id: &str,
        status: ReportStatus,
        summary: &str,
    ) -> Result<RequestRecord, Error> {
        let path = format!("/v1/requests/{}/outcome", path_segment(id)?);
        let body = serde_json::json!({ "status": status, "summary": summary }).to_string();
        self.same(id, self.post(&path, &body, None, TIMEOUT)?)
    }

    /// Reports the outcome of a call in numbers, and with a summary if there is one.
    pub fn report_run(&self, id: &str, ran: &RunReport) -> Result<RequestRecord, Error> {
        let path = format!("/v1/requests/{}/outcome", path_segment(id)?);
        let body = serde_json::json!({
            "status": if ran.failed { ReportStatus::Error } else { ReportStatus::Ok },
            "exit_code": ran.exit_code,
            "duration_ms": ran.duration_ms,
            "result_digest": ran.result_digest,
            "summary": ran.summary,
        });
        self.same(id, self.post(&path, &body.to_string(), None, TIMEOUT)?)
    }
}
