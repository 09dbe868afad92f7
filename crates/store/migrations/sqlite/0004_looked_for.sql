-- What people look for often: earlier calls of one tool, and what happened in one session. Neither
-- column ever changes, so that decisions write no page more.
CREATE INDEX request_tool ON request_text (tool, request);
CREATE INDEX request_session ON request (session, id) WHERE session <> '';
