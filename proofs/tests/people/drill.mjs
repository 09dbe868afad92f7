// Drills, in Chromium: ordered on the page about attention, answered in the inbox, told at once.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { TOOLS, BROWSER, PEOPLE, AGENTS, AGENT_TOKEN, PASSPHRASE } = process.env;
const { chromium } = createRequire(`${TOOLS}/package.json`)("playwright-core");
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];

const browser = await chromium.launch({ executablePath: BROWSER, args: QUIET });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
const complaints = [];
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("console", (line) => { if (line.type() === "error") complaints.push(line.text()); });

const headers = { authorization: `Bearer ${AGENT_TOKEN}`, "content-type": "application/json" };
const call = { command: "scp notes.txt ana@203.0.113.9:", session: "s", timeout_seconds: 500 };
const asked = await (await fetch(AGENTS + "/v1/requests", { method: "POST", headers, body: JSON.stringify(call) })).json();
assert.equal(asked.tier, "MEDIUM");

await page.goto(PEOPLE + "/attention");
await page.fill("[name=passphrase]", PASSPHRASE);
await page.click("button.main");
await page.waitForURL(PEOPLE + "/attention");

async function order() {
  await page.goto(PEOPLE + "/attention");
  await page.click("#drills button");
  await Promise.all([page.waitForEvent("load"), page.click("dialog button:last-of-type")]);
  await page.goto(PEOPLE + "/");
  const row = page.locator(`.row:not([data-id="${asked.id}"])`);
  await row.waitFor();
  return row.getAttribute("data-id");
}

async function answer(id, choice) {
  await page.click(`.row[data-id="${id}"]`);
  const card = page.locator(`#pane article[data-id="${id}"]`);
  await card.waitFor();
  // Nothing on the page says what it is: not the card, not the list, not its own page.
  assert.doesNotMatch((await page.textContent("main")).toLowerCase(), /drill/);
  assert.match(await card.textContent(), /coder, session s/);
  const own = await (await page.request.get(`${PEOPLE}/requests/${id}`)).text();
  assert.doesNotMatch(own.toLowerCase(), /drill/);
  await page.waitForFunction(() => performance.now() - shownAt >= SETTLE_MS);
  await page.fill("[name=reason]", "as planned");
  const word = card.locator(".answer [name=word]");
  if (choice === "approve" && await word.count() > 0) await word.fill((await word.getAttribute("data-words")).split("-")[0]);
  const session = card.locator('[data-scope="session"]');
  if (choice === "approve" && await session.count() > 0) {
    await card.locator("details.more > summary").click();
    await session.click();
  } else await page.click(`.buttons [data-answer="${choice}"]`);
  const told = page.locator(`#pane article[data-id="${id}"] .drill`);
  await told.waitFor();
  return told.textContent();
}

await page.goto(PEOPLE + "/attention");
assert.match(await page.textContent("#drills"), /Drills are off.*per_week = 1/s);
console.log("the page about attention says that they are off and how to turn them on");

const caught = await order();
const words = await answer(caught, "deny");
assert.match(words, /^This was a drill: coder asked for nothing, and nothing runs. You caught it. Worth noticing: /);
console.log(`denied: ${words}`);
await page.waitForTimeout(6000);
assert.ok(await page.locator(`#pane article[data-id="${caught}"] .drill`).isVisible());
console.log("it stays long enough to be read");

const missed = await order();
assert.match(await answer(missed, "approve"), /It should have been denied\. This happens to everyone/);
const { grants } = await (await page.request.get(`${PEOPLE}/v1/grants?all=true`)).json();
assert.deepEqual(grants.map(({ made_by }) => made_by), ["whitelist file"]);
await page.goto(PEOPLE + "/attention");
assert.match(await page.textContent("#drills"), /Caught 1 of 2 in thirty days/);
console.log("approved for the session: no grant, and 1 of 2 caught");

await page.goto(PEOPLE + "/history");
for (const id of [caught, missed]) {
  assert.match(await page.textContent(`.past a[href="/requests/${id}"]`), /a drill/);
  await page.goto(`${PEOPLE}/requests/${id}`);
  assert.match(await page.textContent(".over"), /This was a drill/);
  await page.goto(PEOPLE + "/history");
}
assert.doesNotMatch(await page.textContent(`.past a[href="/requests/${asked.id}"]`), /a drill/);
console.log("history and the request itself say so afterwards");

await order();
await page.click("#deny-all");
await page.click("dialog button:last-of-type");
await page.waitForSelector("dialog h2:text('A drill')");
assert.match(await page.textContent("dialog"), /You caught it/);
console.log("who denies everything at once is told as well");
assert.deepEqual(complaints, []);
await browser.close();
