// The worker behind the inbox, in Chromium: what a push shows, and what its buttons do.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { TOOLS, BROWSER, PORT, AGENTS, AGENT_TOKEN, PASSPHRASE } = process.env;
const { chromium } = createRequire(`${TOOLS}/package.json`)("playwright-core");
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
const NAMED = `http://localhost:${PORT}`;

const browser = await chromium.launch({ executablePath: BROWSER, args: QUIET });
const context = await browser.newContext();
await context.grantPermissions(["notifications"], { origin: NAMED });
const page = await context.newPage();

async function agent(method, path, body) {
  const headers = { authorization: `Bearer ${AGENT_TOKEN}`, "content-type": "application/json" };
  return (await fetch(AGENTS + path, { method, headers, body: body && JSON.stringify(body) })).json();
}

let number = 0;
const ask = () => agent("POST", "/v1/requests", { tool: "send_message", arguments: { to: "bo@example.org", text: `number ${++number}` }, timeout_seconds: 300 });
const stands = async (id) => (await agent("GET", `/v1/requests/${id}`)).state;

await page.goto(`${NAMED}/devices`);
await page.fill("[name=passphrase]", PASSPHRASE);
await page.click("button.main");
await page.waitForURL(`${NAMED}/devices`);
await page.evaluate(async () => { await navigator.serviceWorker.ready; });
const worker = context.serviceWorkers()[0] ?? await context.waitForEvent("serviceworker");

// A push as the browser hands it to the worker once it has opened it.
const push = (text) => worker.evaluate((data) => {
  const waits = [];
  const event = new PushEvent("push", { data });
  event.waitUntil = (promise) => waits.push(promise);
  self.dispatchEvent(event);
  return Promise.all(waits).then(() => waits.length);
}, text);
const shown = () => worker.evaluate(async () => (await self.registration.getNotifications()).map(({ title, body, tag, actions, data }) => ({ title, body, tag, data, actions: actions.map(({ action }) => action) })));
// A press on one of its buttons.
const press = (action, data) => worker.evaluate(([action, data]) => {
  const waits = [];
  const event = new Event("notificationclick");
  Object.assign(event, { action, notification: { data, close() {} }, waitUntil: (promise) => waits.push(promise) });
  self.dispatchEvent(event);
  return Promise.all(waits).then(() => "done", (error) => String(error));
}, [action, data]);

const asked = await ask();
await push(JSON.stringify({ v: 1, request: asked.id, topic: asked.id, kind: "asked", title: "HIGH: coder asks", body: "Sends a message.", phrase: "olive-tractor", grave: true }));
const [one] = await shown();
assert.deepEqual([one.title, one.tag, one.actions], ["HIGH: coder asks", asked.id, ["deny", "open"]]);
assert.match(one.body, /Sends a message\.\nolive-tractor/);
console.log("a push is shown with Deny and Open, and no Approve");

await push(JSON.stringify({ v: 1, request: null, topic: asked.id, kind: "ended", title: "denied", body: "x" }));
const left = await shown();
assert.deepEqual(left.map(({ title, actions }) => [title, actions]), [["denied", []]]);
console.log("its end takes its place and has no buttons");

assert.equal(await push("this is no JSON"), 1);
console.log("what cannot be read is shown as something to look at");

assert.equal(await press("deny", { request: asked.id }), "done");
assert.equal(await stands(asked.id), "denied");
console.log("Deny is said by an open page of ours, with its proof");

for (const action of ["approve", "open", ""]) {
  const other = await ask();
  await press(action, { request: other.id });
  assert.equal(await stands(other.id), "pending");
}
console.log("nothing else decides anything");

const last = await ask();
await page.evaluate(() => keys("readwrite", (store) => store.delete("session")));
await press("deny", { request: last.id });
assert.equal(await stands(last.id), "pending");
console.log("a page without its proof cannot say no either: the request is opened instead");
await browser.close();
