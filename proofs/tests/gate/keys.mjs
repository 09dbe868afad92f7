// Random keys in the inbox, under latency, reordered answers and restarts of the daemon. An answer
// counts as wrong unless the card, the highlighted row and the digest all name the same call, both
// when the key was pressed and when the answer was written. The session's key then signs it, which
// takes a moment; by the time it is sent the person may look at another card.
import assert from "node:assert/strict";
import http from "node:http";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const { TOOLS, BROWSER, PEOPLE, AGENTS, AGENT_TOKEN, PASSPHRASE, SEQUENCES, SEED } = process.env;
const { chromium } = createRequire(`${TOOLS}/package.json`)("playwright-core");
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
const [TABS, PENDING, BETWEEN_RESTARTS] = [6, 30, 40];
const sequences = Number(SEQUENCES);

// ---- random numbers that can be repeated --------------------------------------------------------
function dice(seed) {
  let state = seed >>> 0 || 1;
  const next = () => { state ^= state << 13; state ^= state >>> 17; state ^= state << 5; return (state >>> 0) / 2 ** 32; };
  return { below: (end) => Math.floor(next() * end), one: (list) => list[Math.floor(next() * list.length)] };
}
const seed = Number(SEED ?? 20261116);
const network = dice(seed + 1);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// ---- the network: every exchange is delayed by itself, so answers overtake each other -------------
let [people, agents] = [new URL(PEOPLE), new URL(AGENTS)];
let [longest, down] = [0, false];
const server = http.createServer(async (from, to) => {
  const stream = from.url === "/v1/events";
  const late = () => (stream ? 0 : sleep(longest && network.below(longest)));
  const refuse = () => { if (network.below(2)) { to.destroy(); } else { to.writeHead(502); to.end(); } };
  await late();
  if (down) return refuse();
  const headers = { ...from.headers, host: people.host, ...(from.headers.origin && { origin: people.origin }) };
  const out = http.request({ host: people.hostname, port: people.port, method: from.method, path: from.url, headers }, async (answer) => {
    answer.on("error", () => to.destroy());
    if (stream) { to.writeHead(answer.statusCode, answer.headers); to.flushHeaders(); answer.pipe(to); answer.on("close", () => to.destroy()); return; }
    const parts = [];
    try { for await (const part of answer) parts.push(part); } catch { return to.destroy(); }
    await late();
    to.writeHead(answer.statusCode, answer.headers);
    to.end(Buffer.concat(parts));
  });
  out.on("error", refuse);
  to.on("close", () => out.destroy());
  from.pipe(out);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const here = `http://127.0.0.1:${server.address().port}`;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function restart() {
  down = true;
  console.log("restart");
  const { value } = await lines.next();
  [people, agents] = value.split(" ").map((each) => new URL(each));
  await sleep(network.below(1500));
  down = false;
}

// ---- the agent: calls that are told apart by one word of their text --------------------------------
const asked = new Map();
let number = 0;
async function agent(method, path, body) {
  const headers = { authorization: `Bearer ${AGENT_TOKEN}`, "content-type": "application/json" };
  for (;;) {
    try {
      const response = await fetch(agents.origin + path, { method, headers, body: body && JSON.stringify(body) });
      return await response.json();
    } catch { await sleep(100); }
  }
}
async function ask() {
  const name = `web-${++number}-x`;
  const { id, digest, tier } = await agent("POST", "/v1/requests", { tool: "terminal", command: `systemctl restart ${name}`, session: "keys", timeout_seconds: 3000 });
  assert.equal(tier, "MEDIUM");
  asked.set(id, { digest, name });
}
const pending = async () => (await agent("GET", "/v1/requests?state=pending&limit=500")).requests.map(({ id }) => id);

// ---- what each tab shows, written down by itself ---------------------------------------------------
const answers = [];
function witness() {
  // A card that is drawn again for the same call did not just come up.
  const seen = { call: undefined, since: 0 };
  const look = () => {
    const card = document.querySelector("#pane article");
    const call = card && `${card.dataset.id} ${card.dataset.digest}`;
    if (call !== seen.call) [seen.call, seen.since] = [call, performance.now()];
    const box = card?.querySelector("h1")?.getBoundingClientRect();
    const button = card?.querySelector(".buttons [data-answer=approve]")?.getBoundingClientRect();
    const inside = (each) => Boolean(each) && each.top >= 0 && each.bottom <= innerHeight;
    return {
      card: card?.dataset.id, digest: card?.dataset.digest, text: card?.querySelector(".call")?.textContent ?? "",
      rows: [...document.querySelectorAll(".row[aria-current]")].map((row) => row.dataset.id),
      visible: inside(box) && inside(button), age: performance.now() - seen.since,
    };
  };
  let pressed;
  for (const kind of ["keydown", "pointerdown", "click"]) addEventListener(kind, (event) => { if (event.isTrusted) pressed = look(); }, true);
  // From the start: the first card comes with the page, and is there before its scripts have loaded.
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
  const written = new Map(); // by digest: the screen when the answer was written
  const stringify = JSON.stringify;
  JSON.stringify = (value, ...more) => {
    if (value?.choice && value.digest) written.set(value.digest, { pressed, written: look() });
    return stringify(value, ...more);
  };
  const sign = crypto.subtle.sign.bind(crypto.subtle);
  crypto.subtle.sign = async (...all) => {
    await new Promise((done) => setTimeout(done, Math.random() * 200));
    return sign(...all);
  };
  const real = window.fetch;
  window.fetch = (path, options = {}) => {
    const found = /^\/v1\/requests\/([^/]+)\/decision$/.exec(path);
    if (found) {
      const said = JSON.parse(options.body);
      window.witnessed({ id: found[1], said, ...written.get(said.digest) });
    }
    return real(path, options);
  };
}

function wrong({ id, said, pressed, written }) {
  const { digest, name } = asked.get(id) ?? {};
  if (said.digest !== digest) return "another digest";
  for (const [when, seen] of [["pressed", pressed], ["written", written]]) {
    if (seen?.card !== id) return `the card of another request when ${when}`;
    if (seen.rows.length !== 1 || seen.rows[0] !== id) return `another row was highlighted when ${when}`;
    if (seen.digest !== digest || !seen.text.includes(name)) return `another call was shown when ${when}`;
    if (!seen.visible) return `the card was out of sight when ${when}`;
  }
  return pressed.age < 300 ? "the card had just come up" : undefined;
}

// ---- the tabs ------------------------------------------------------------------------------------
const browser = await chromium.launch({ executablePath: BROWSER, args: QUIET });
// Each tab has a context of its own: a browser opens few connections to one host in each.
async function newTab() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
  await context.exposeFunction("witnessed", (answer) => answers.push(answer));
  await context.addInitScript(witness);
  const page = await context.newPage();
  // The key of a session cannot be copied: each tab signs in by itself.
  await page.goto(here + "/login");
  await page.fill("[name=passphrase]", PASSPHRASE);
  await page.click("button.main");
  await page.waitForURL(here + "/");
  return page;
}

async function topUp() {
  const missing = PENDING - (await pending()).length;
  await Promise.all(Array.from({ length: Math.max(missing, 0) }, ask));
}

const KEYS = ["j", "j", "k", "a", "aa", "dd", "jaa", "jdd", "kaa", "AA", "AA", "AA", "DD", "DD", "row", "button", "come", "cancel", "rest"];
// The card of the highlighted row has come up.
const isShown = () => {
  const card = document.querySelector("#pane article");
  return card?.dataset.state === "pending" && document.querySelector(".row[aria-current]")?.dataset.id === card.dataset.id;
};
async function sequence(page, random) {
  const length = 3 + random.below(6);
  // A person reads "The answer was not accepted" and closes it; until then no key reaches the card.
  await page.evaluate(() => document.querySelector("dialog[open] .buttons button")?.click());
  for (let at = 0; at < length; at += 1) {
    const what = random.one(KEYS);
    if (what === "row") {
      const row = page.locator(".row:not(.ended)").nth(random.below(8));
      await row.click({ timeout: 500 }).then(() => { rows += 1; }, () => {});
    } else if (what === "button") {
      await page.locator(`.buttons [data-answer=${random.one(["approve", "deny"])}]`).click({ timeout: 300 }).catch(() => {});
    } else if (what === "come") await ask();
    else if (what === "cancel") {
      const id = await page.evaluate(() => document.querySelector("#pane article")?.dataset.id);
      if (id) await agent("POST", `/v1/requests/${id}/cancel`, {});
    } else if (what === "rest") await page.waitForTimeout(500);
    else {
      // In capitals: after the time that a person takes to look at a card.
      if (what === what.toUpperCase()) {
        await page.waitForFunction(isShown, undefined, { timeout: 4000 }).catch(() => {});
        await page.waitForTimeout(400 + random.below(200));
      }
      for (const key of what.toLowerCase()) { await page.keyboard.press(key); await page.waitForTimeout(random.below(60)); }
    }
    await page.waitForTimeout(random.below(250));
  }
}

// The list and the card name the same request, and the list is what the daemon has pending.
async function agrees(page) {
  const state = () => page.evaluate(() => {
    const card = document.querySelector("#pane article");
    return {
      card: card?.dataset.state === "pending" ? card.dataset.id : null,
      current: document.querySelector(".row[aria-current]:not(.ended)")?.dataset.id ?? null,
      rows: [...document.querySelectorAll(".row:not(.ended)")].map((row) => row.dataset.id).sort(),
    };
  });
  for (const until = Date.now() + 20_000; ;) {
    // Asked each time: a request may expire or be withdrawn meanwhile.
    const ids = (await pending()).sort();
    const { card, current, rows } = await state();
    const same = card === current && (card !== null || rows.length === 0);
    if (same && JSON.stringify(rows) === JSON.stringify(ids)) return;
    if (Date.now() > until) {
      const lacks = ids.filter((id) => !rows.includes(id));
      assert.fail(`after 20 s the card is ${card}, the highlighted row ${current}, of ${rows.length} rows where ${ids.length} are pending; the list lacks ${lacks}`);
    }
    await sleep(100);
  }
}

await topUp();
let [done, restarts, rows] = [0, 0, 0];
const busy = new Set();
let gate = Promise.resolve();
async function tab(page, index) {
  const random = dice(seed + 100 + index);
  await page.goto(here + "/");
  await page.waitForSelector("#pane article");
  while (done < sequences) {
    await gate;
    done += 1;
    if (done % BETWEEN_RESTARTS === 0) { restarts += 1; gate = restart(); }
    if (done % 10 === 0) { longest = random.one([0, 60, 300, 900, 2500]); await topUp(); }
    await sequence(page, random);
    const failed = answers.map(wrong).find(Boolean);
    if (failed) break;
  }
  return page;
}
// All sign in before the network gets slow and the daemon restarts.
const opened = [];
for (let index = 0; index < TABS; index += 1) opened.push(await newTab());
const pages = await Promise.all(opened.map(tab));
longest = 0;
await gate;
const failures = answers.map((answer) => [wrong(answer), answer]).filter(([why]) => why);
for (const [why, { id, said, pressed, written }] of failures.slice(0, 5)) console.error(`${said.choice} ${id}: ${why}; pressed on ${pressed?.card}, highlighted ${pressed?.rows}; written at ${written?.card}, highlighted ${written?.rows}`);
assert.equal(failures.length, 0, `${failures.length} of ${answers.length} answers were to a card that was not shown`);
for (const page of pages) await agrees(page);
assert.ok(answers.length * 10 >= sequences, `only ${answers.length} answers in ${sequences} sequences`);
assert.ok(rows * 20 >= sequences, `only ${rows} rows were clicked in ${sequences} sequences`);
console.log(`${done} sequences of keys, ${rows} rows clicked, ${answers.length} answers, ${restarts} restarts: 0 to a card that was not shown; list and card agree in ${pages.length} tabs`);
await browser.close();
server.close();
process.exit(0);
