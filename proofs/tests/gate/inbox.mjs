// Drives Chromium through the inbox. Every check prints one line; the first that fails ends it.
import assert from "node:assert/strict";
import { request } from "node:http";
import { createRequire } from "node:module";
import { confirm, pages } from "./pages.mjs";

const { TOOLS, BROWSER, PEOPLE, AGENTS, AGENT_TOKEN, PASSPHRASE, REPOSITORY, SHOTS, SOCKET } = process.env;
const { chromium } = createRequire(`${TOOLS}/package.json`)("playwright-core");
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];

const browser = await chromium.launch({ executablePath: BROWSER, args: QUIET });
const complaints = [];
let state;

async function visit(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, storageState: state, ...options });
  const page = await context.newPage();
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (line) => { if (line.type() === "error") complaints.push(line.text()); });
  // The key of a session cannot be copied: each browser signs in by itself.
  if (state && !options.storageState && options.javaScriptEnabled !== false) await signIn(page);
  return page;
}

async function signIn(page) {
  await page.goto(PEOPLE + "/login");
  await page.fill("[name=passphrase]", PASSPHRASE);
  await page.click("button.main");
  await page.waitForURL(PEOPLE + "/");
}

async function agent(method, path, body) {
  const headers = { authorization: `Bearer ${AGENT_TOKEN}`, "content-type": "application/json" };
  const response = await fetch(AGENTS + path, { method, headers, body: body && JSON.stringify(body) });
  return response.json();
}

// Over the socket, as a hook asks.
function askOnSocket(call) {
  return new Promise((resolve, reject) => {
    const options = { socketPath: SOCKET, path: "/v1/requests", method: "POST", headers: { "content-type": "application/json", host: "localhost" } };
    const sent = request(options, (response) => {
      let text = "";
      response.on("data", (part) => { text += part; });
      response.on("end", () => resolve(JSON.parse(text)));
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(call));
  });
}

let number = 0;
const mail = (words = "") => ({ tool: "send_email", arguments: { to: "bo@example.org", body: `${words} number ${++number}` }, session: "s", timeout_seconds: 500 });
const ask = (call) => agent("POST", "/v1/requests", call);
const stands = (id) => agent("GET", `/v1/requests/${id}`);
const card = (id) => `#pane article[data-id="${id}"]`;
// A card takes no answer in the moment in which it appears.
const settled = (page) => page.waitForFunction(() => performance.now() - shownAt >= SETTLE_MS);
// An answer that the page had sent before would have arrived before this one.
const later = (page) => page.evaluate(() => send("GET", "/v1/me"));

async function open(page, id) {
  await page.click(`.row[data-id="${id}"]`);
  await page.waitForSelector(card(id));
  await settled(page);
}

// HIGH takes one of the two words.
async function typeWord(page, where = ".answer") {
  const field = page.locator(`${where} [name=word]`);
  if (await field.count() > 0) await field.fill((await field.getAttribute("data-words")).split("-")[1]);
}

async function approve(page) {
  await typeWord(page);
  await page.click('.buttons [data-answer="approve"]');
}

async function check(what, act) {
  const figure = await act();
  console.log(figure === undefined ? what : `${what}: ${figure}`);
}

const page = await visit();

await check("a stranger sees the login page, and a wrong passphrase is told so", async () => {
  await page.goto(PEOPLE + "/history?q=x");
  assert.match(page.url(), /\/login\?next=/);
  await page.fill("[name=passphrase]", "not the passphrase");
  await page.click("button.main");
  await page.waitForFunction(() => document.querySelector(".wrong").textContent !== "");
  complaints.length = 0; // the browser itself reports the 401
});

await check("the right one leads to where one wanted to go", async () => {
  await page.fill("[name=passphrase]", PASSPHRASE);
  await page.click("button.main");
  await page.waitForURL(PEOPLE + "/history?q=x");
  state = await page.context().storageState();
});

await check("a request appears while one looks", async () => {
  await page.goto(PEOPLE + "/");
  await page.waitForFunction(() => document.querySelector("#live").textContent === "live");
  const asked = Date.now();
  const { id } = await ask(mail());
  await page.waitForSelector(card(id));
  const took = Date.now() - asked;
  assert.match(await page.textContent("#brief"), /e-mail/);
  return `${took} ms after it was asked`;
});

await check("HIGH is approved once, after one of its two words was typed", async () => {
  const { id, tier } = await ask(mail());
  assert.equal(tier, "HIGH");
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  await page.click('.buttons [data-answer="approve"]');
  assert.match(await page.textContent(".card .wrong[role=alert]"), /one of the two words/);
  await page.fill(".answer [name=word]", "yes");
  await page.click('.buttons [data-answer="approve"]');
  await later(page);
  assert.equal((await stands(id)).state, "pending");
  await approve(page);
  await page.waitForSelector(`${card(id)}[data-state=approved]`);
  assert.equal((await stands(id)).state, "approved");
  assert.match(await page.textContent(`${card(id)} .over`), /approved by owner/);
});

await check("deny with a message to the agent", async () => {
  const { id } = await ask(mail());
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  await page.fill("[name=reason]", "not today");
  await page.click('.buttons [data-answer="deny"]');
  await page.waitForSelector(`${card(id)}[data-state=denied]`);
  const { state, decision } = await stands(id);
  assert.deepEqual([state, decision.reason], ["denied", "not today"]);
});

await check("a CRITICAL call is not approved without a reason", async () => {
  const { id } = await ask({ tool: "terminal", command: "rm -rf / --no-preserve-root", timeout_seconds: 500 });
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  await page.click('.buttons [data-answer="approve"]');
  assert.match(await page.textContent(".card .wrong[role=alert]"), /Enter a reason/);
  assert.equal((await stands(id)).state, "pending");
  await page.fill("[name=reason]", "a machine that is thrown away");
  await page.click('.buttons [data-answer="approve"]');
  await page.waitForSelector(`${card(id)}[data-state=approved]`);
});

await check("Enter in the reason's field decides nothing, and no key does at once", async () => {
  const { id } = await ask({ tool: "terminal", command: `systemctl restart web-${++number}`, timeout_seconds: 500 });
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  await page.fill("[name=reason]", "x");
  await page.press("[name=reason]", "Enter");
  await page.locator("#brief").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("a");
  await later(page);
  assert.equal((await stands(id)).state, "pending");
  await page.keyboard.press("a");
  await page.waitForSelector(`${card(id)}[data-state=approved]`);
});

await check("an edit is assessed and shown before it can be approved, and beside the original ever after", async () => {
  const { id, tier } = await ask({ tool: "terminal", command: "chmod -R 777 /var/www", timeout_seconds: 500 });
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  await page.click("details.more > summary");
  await page.click("details.edit > summary");
  await page.fill("[name=edited]", JSON.stringify({ command: "rm -rf /var/www" }));
  assert.ok(await page.isHidden('[data-edit="approve"]'));
  assert.ok(await page.isDisabled('.buttons [data-answer="approve"]'), "the original is not approved by mistake");
  await page.click('[data-edit="check"]');
  await page.waitForSelector(".checked .assessed");
  assert.match(await page.textContent(".difference"), /- .*chmod[^]*\+ .*rm -rf/);
  const assessed = await page.textContent(".checked");
  const worse = await page.getAttribute(".checked .assessed", "data-tier");
  assert.match(assessed, /rm -rf \/var\/www/);
  assert.ok(assessed.includes(worse) && ["HIGH", "CRITICAL"].includes(worse), `${tier} became ${worse}`);
  // Another letter, and the check is void.
  await page.locator("[name=edited]").press("End");
  await page.locator("[name=edited]").pressSequentially(" ");
  assert.ok(await page.isHidden('[data-edit="approve"]'));
  await page.click('[data-edit="check"]');
  await page.waitForSelector(".checked .assessed");
  await page.fill("[name=reason]", "as planned");
  await typeWord(page, ".checked");
  if (SHOTS) await page.screenshot({ path: `${SHOTS}/edit-checked.png` });
  await page.click('[data-edit="approve"]');
  await page.waitForSelector(`${card(id)}[data-state=approved]`);
  assert.equal((await stands(id)).edited_arguments.command, "rm -rf /var/www");
  const both = async (seen, selector) => {
    const text = await seen.textContent(selector);
    assert.match(text, /Edited call[^]*rm -rf \/var\/www[^]*Original call[^]*chmod -R 777/);
    assert.ok(text.includes(worse));
  };
  await both(page, card(id));
  const past = await visit();
  await past.goto(`${PEOPLE}/requests/${id}`);
  await both(past, "article.card");
  if (SHOTS) await past.screenshot({ path: `${SHOTS}/edited-story.png`, fullPage: true });
  await past.goto(`${PEOPLE}/history?q=${encodeURIComponent("rm -rf /var/www")}`);
  assert.match(await past.textContent(`.past li:has(a[href="/requests/${id}"])`), new RegExp(`Approved as edited: ${worse}`));
  if (SHOTS) await past.screenshot({ path: `${SHOTS}/history-edited.png` });
  await past.context().close();
  return `${tier} became ${worse}`;
});

await check("an edit changes no digit unseen, and a changed order is a difference", async () => {
  const { id } = await ask({ tool: "send_message", arguments: { to: ["a@example.org", "b@example.org", "c@example.org"], text: `order ${++number}` }, timeout_seconds: 500 });
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  await page.click("details.more > summary");
  await page.click("details.edit > summary");
  const look = async (text) => {
    await page.fill("[name=edited]", text);
    await page.click('[data-edit="check"]');
    return page.textContent(".difference");
  };
  const long = "12345678901234567890.12345678901234567890";
  assert.ok((await look(`{"text":"x","n":${long}}`)).includes(`"n": ${long}`));
  await page.waitForFunction(() => /more digits/.test(document.querySelector(".answer .wrong").textContent));
  assert.equal((await stands(id)).state, "pending");
  complaints.length = 0; // the browser itself reports the refusal
  const shown = await look(`{"text":"order ${number}","to":["b@example.org","a@example.org","c@example.org"]}`);
  assert.match(shown, /- +"(.@example.org)"[^]*\+ +"\1"|\+ +"(.@example.org)"[^]*- +"\2"/);
  await page.waitForSelector(".checked .assessed");
  await typeWord(page, ".checked");
  await page.click('[data-edit="approve"]');
  await page.waitForSelector(`${card(id)}[data-state=approved]`);
  assert.equal((await stands(id)).edited_arguments.to[0], "b@example.org");
});

await check("a grant for an hour lets exactly this call pass", async () => {
  const call = { tool: "send_message", arguments: { to: "bo@example.org", text: "the same again" }, session: "s", timeout_seconds: 500 };
  const { id } = await ask(call);
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  await page.click("details.more > summary");
  await typeWord(page);
  await page.click('[data-shape="exact"][data-scope="until"]');
  await confirm(page, PASSPHRASE);
  await page.waitForSelector(`${card(id)}[data-state=approved]`);
  assert.equal((await ask(call)).state, "approved");
});

await check("Approve for this session covers the same command in its session, and mail has no such button", async () => {
  const call = { tool: "bash", arguments: { command: "rm -rf src" }, cwd: "/srv/app", session: "shown", timeout_seconds: 500 };
  const { id } = await ask(call);
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  assert.match(await page.textContent(`${card(id)} .for-session`), /The same command in this folder/);
  await typeWord(page);
  await page.click(`${card(id)} .for-session button`);
  await page.waitForSelector(`${card(id)}[data-state=approved]`);
  assert.match(await page.textContent(`${card(id)} .over`), /approved for this session by owner/);
  assert.equal((await ask(call)).state, "approved");
  const other = await ask({ ...call, session: "other" });
  assert.equal(other.state, "pending");
  const sent = await ask(mail());
  await page.waitForSelector(`.row[data-id="${sent.id}"]`);
  await open(page, sent.id);
  assert.equal(await page.locator(`${card(sent.id)} .for-session`).count(), 0);
});

await check("Approve for this repository covers the program in every session there, and is offered nowhere else", async () => {
  const call = (command, session, cwd = REPOSITORY) => ({ tool: "bash", arguments: { command }, cwd, session, timeout_seconds: 500 });
  const { id } = await askOnSocket(call("frobnicate --all", "r1"));
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  const button = page.locator(`${card(id)} [data-scope="repository"]`);
  assert.equal(await button.textContent(), "Approve for this repository");
  assert.ok((await page.textContent(card(id))).includes(`in every session in ${REPOSITORY}, for 90 days`));
  await typeWord(page);
  await button.click();
  await page.waitForSelector(`${card(id)}[data-state=approved]`);
  assert.match(await page.textContent(`${card(id)} .over`), /approved for this repository by owner/);
  assert.equal((await askOnSocket(call("frobnicate other", "r2"))).state, "approved");
  // Another program, and the same one where the kernel does not say who asks.
  const other = await askOnSocket(call("frobnicate x; rm -rf ~/work", "r2"));
  assert.equal(other.state, "pending");
  const claimed = await ask(call("frobnicate --all", "r3"));
  assert.equal(claimed.state, "pending");
  await page.waitForSelector(`.row[data-id="${claimed.id}"]`);
  await open(page, claimed.id);
  assert.equal(await page.locator(`${card(claimed.id)} [data-scope="repository"]`).count(), 0);
});

await check("what an agent writes is text and nothing else", async () => {
  const bad = `<img src=x onerror="window.hit=1"><script>window.hit=1</script>\u202eevil\u001b[2J`;
  const { id } = await ask({ tool: "send_email", arguments: { to: "bo@example.org", body: bad }, description: bad, session: bad.slice(0, 60), timeout_seconds: 500 });
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  const text = await page.textContent(card(id));
  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.equal(await page.locator(`${card(id)} img, ${card(id)} script`).count(), 0);
  assert.ok(!text.includes("\u202e") && !text.includes("\u001b") && text.includes("<script>"));
});

await check("what is folded has to be opened before it can be approved", async () => {
  const { id } = await ask({ tool: "send_email", arguments: { to: "bo@example.org", body: "line\n".repeat(200) }, timeout_seconds: 500 });
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  assert.ok(await page.isDisabled('.buttons [data-answer="approve"]'));
  await page.click(".call button.more");
  assert.ok(await page.isEnabled('.buttons [data-answer="approve"]'));
});

await check("nothing moves under a finger when a request of a higher tier comes", async () => {
  const { id } = await ask(mail());
  await page.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  const before = await page.locator('.buttons [data-answer="approve"]').boundingBox();
  const { id: higher } = await ask({ tool: "terminal", command: "mkfs.ext4 /dev/sda", timeout_seconds: 500 });
  await page.waitForSelector(`.row[data-id="${higher}"]`);
  assert.ok(await page.isVisible(card(id)));
  assert.deepEqual(await page.locator('.buttons [data-answer="approve"]').boundingBox(), before);
});

await check("a card that has just come up takes no tap", async () => {
  const { id } = await ask({ tool: "terminal", command: `systemctl restart web-${++number}`, timeout_seconds: 500 });
  await page.waitForSelector(`.row[data-id="${id}"]`);
  // The page taps by itself in the moment in which the card appears: from here it could be too late.
  await page.evaluate((card) => {
    window.tap = () => {
      const word = document.querySelector(".answer [name=word]");
      if (word) word.value = word.dataset.words.split("-")[1];
      document.querySelector('.buttons [data-answer="approve"]').click();
    };
    window.tapped = new Promise((done) => {
      const observer = new MutationObserver(() => {
        if (!document.querySelector(card)) return;
        observer.disconnect();
        window.tap();
        done();
      });
      observer.observe(document.querySelector("#pane"), { childList: true, subtree: true });
    });
  }, card(id));
  await page.click(`.row[data-id="${id}"]`);
  await page.evaluate(() => window.tapped);
  await later(page);
  assert.equal((await stands(id)).state, "pending");
  // The same tap counts when the card has been there for a moment.
  await settled(page);
  await page.evaluate(() => window.tap());
  await page.waitForSelector(`${card(id)}[data-state=approved]`);
});

await check("while the next card is on its way there is none to answer", async () => {
  const slow = await visit();
  const list = [await ask(mail()), await ask(mail())];
  await slow.goto(PEOPLE + "/?r=" + list[0].id);
  await slow.waitForSelector(card(list[0].id));
  await slow.waitForSelector(`.row[data-id="${list[1].id}"]`);
  await slow.route("**/inbox/card/*", async (route) => { await new Promise((done) => setTimeout(done, 2500)); await route.continue().catch(() => {}); });
  await settled(slow);
  const marked = () => slow.getAttribute(".row[aria-current]", "data-id");
  await slow.click(`.row[data-id="${list[1].id}"]`);
  assert.equal(await marked(), list[1].id);
  assert.equal(await slow.locator("#pane article").count(), 0);
  assert.match(await slow.textContent("#pane"), /Loading the request/);
  for (const button of await slow.locator("#pane .buttons button").all()) assert.ok(await button.isDisabled());
  for (const key of "aadd") await slow.keyboard.press(key);
  await slow.waitForSelector(card(list[1].id));
  for (const { id } of list) assert.equal((await stands(id)).state, "pending");
  // A slower answer of the daemon does not bring an older card back.
  const ends = (request) => request.url().endsWith(list[0].id);
  const older = Promise.race([slow.waitForEvent("requestfinished", ends), slow.waitForEvent("requestfailed", ends)]);
  await slow.click(`.row[data-id="${list[0].id}"]`);
  await slow.unroute("**/inbox/card/*", { behavior: "ignoreErrors" });
  await slow.click(`.row[data-id="${list[1].id}"]`);
  await slow.waitForSelector(card(list[1].id));
  await older;
  assert.ok(await slow.isVisible(card(list[1].id)));
  assert.equal(await marked(), list[1].id);
  await slow.context().close();
});

await check("a decision that names another call is refused, an approval without a digest as well", async () => {
  const [{ id, digest }, other] = [await ask(mail()), await ask(mail())];
  const said = (body) => page.evaluate(async ([path, said]) => {
    const text = JSON.stringify(said);
    const headers = { "content-type": "application/json", "x-countersign-proof": await proof("POST", path, text) };
    const response = await fetch(path, { method: "POST", headers, body: text });
    return [response.status, (await response.json()).detail];
  }, [`/v1/requests/${id}/decision`, body]);
  for (const choice of ["approve", "deny"]) assert.equal((await said({ choice, digest: other.digest, reason: "x" }))[0], 409);
  const [status, detail] = await said({ choice: "approve", reason: "x" });
  assert.deepEqual([status, /digest/.test(detail)], [400, true]);
  assert.equal((await stands(id)).state, "pending");
  const edited = { choice: "approve", reason: "x", digest, edited_arguments: { to: "a@example.org" } };
  assert.equal((await said(edited))[0], 400);
  assert.equal((await said({ ...edited, edited_digest: digest }))[0], 409);
  assert.equal((await stands(id)).state, "pending");
  assert.equal((await said({ choice: "deny" }))[0], 200);
  complaints.length = 0; // the browser itself reports the refusals
});

await check("the cookie alone decides nothing", async () => {
  const { id, digest } = await ask(mail());
  const status = await page.evaluate(async ([path, body]) => {
    const headers = { "content-type": "application/json" };
    return (await fetch(path, { method: "POST", headers, body: JSON.stringify(body) })).status;
  }, [`/v1/requests/${id}/decision`, { choice: "approve", digest, reason: "x" }]);
  assert.ok(status === 401 || status === 403, String(status));
  assert.equal((await stands(id)).state, "pending");
  complaints.length = 0; // the browser itself reports the refusal
});

await check("no script reads the key of the session, and whoever copied everything else decides nothing", async () => {
  const { id, digest } = await ask(mail());
  const taken = await page.evaluate(async () => {
    const { key, salt, shown } = await keys("readonly", (store) => store.get("session"));
    const read = await crypto.subtle.exportKey("pkcs8", key).then(() => "read", ({ name }) => name);
    return { read, salt, shown, rest: JSON.stringify(localStorage) + JSON.stringify(sessionStorage) };
  });
  assert.equal(taken.read, "InvalidAccessError");
  assert.ok(!taken.rest.includes(taken.salt));
  const { cookies } = await page.context().storageState();
  const thief = await visit({ storageState: { cookies, origins: [] } });
  await thief.goto(PEOPLE + "/history");
  const status = await thief.evaluate(async ([path, text, { salt, shown }]) => {
    const { privateKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
    await keys("readwrite", (store) => store.put({ key: privateKey, salt, shown, ahead: 0 }, "session"));
    const headers = { "content-type": "application/json", "x-countersign-proof": await proof("POST", path, text) };
    return (await fetch(path, { method: "POST", headers, body: text })).status;
  }, [`/v1/requests/${id}/decision`, JSON.stringify({ choice: "approve", digest, reason: "x" }), taken]);
  assert.equal(status, 403);
  assert.equal((await stands(id)).state, "pending");
  await thief.context().close();
  complaints.length = 0; // the browser itself reports the refusal
});

await check("decided elsewhere, the card says so", async () => {
  const other = await visit();
  await other.goto(PEOPLE + "/");
  const { id } = await ask(mail());
  for (const each of [page, other]) await each.waitForSelector(`.row[data-id="${id}"]`);
  await open(page, id);
  await open(other, id);
  await other.click('.buttons [data-answer="deny"]');
  await page.waitForSelector(`${card(id)}[data-state=denied]`);
  await other.context().close();
});

await check("history finds commands, arguments, the two words and sessions, and says when nothing matches", async () => {
  const past = await visit();
  const { id, phrase } = await ask({ tool: "terminal", command: "systemctl restart olive-press", session: "nightly-deploy", timeout_seconds: 500 });
  const { id: letter } = await ask({ tool: "send_email", arguments: { to: "zoe@example.org", body: "about the pantry" }, timeout_seconds: 500 });
  for (const [text, wanted] of [["restart olive-press", id], [phrase, id], [phrase.replace("-", " "), id], ["nightly-deploy", id], [id, id], ["the pantry", letter], ["ZOE@example.org", letter]]) {
    await past.goto(`${PEOPLE}/history?q=${encodeURIComponent(text)}`);
    assert.equal(await past.locator(`.past a[href="/requests/${wanted}"]`).count(), 1, text);
  }
  await past.goto(`${PEOPLE}/history?q=nothing-has-this`);
  assert.match(await past.textContent("main"), /No requests match “nothing-has-this”/);
  await past.context().close();
});

await check("history finds it, and its story is told", async () => {
  const past = await visit();
  await past.goto(PEOPLE + "/history?state=denied");
  await past.click(".past li a");
  assert.match(await past.textContent(".story"), /A call became a request[^]*was denied/);
  await past.context().close();
});

await check("an agent is added, its token shown once, and revoked", async () => {
  const house = await visit();
  await house.goto(PEOPLE + "/agents");
  await house.click("details.add > summary");
  await house.fill("[name=name]", "helper");
  await house.click("form.api button.main");
  await confirm(house, PASSPHRASE);
  const token = await house.textContent("dialog .secret");
  assert.match(token, /^csa_/);
  await house.click("dialog button");
  const known = () => fetch(AGENTS + "/v1/requests", { headers: { authorization: `Bearer ${token}` } }).then((response) => response.status);
  await house.waitForSelector("text=helper");
  assert.equal(await known(), 200);
  await house.click('[data-method=DELETE][data-path="/v1/agents/helper"]');
  await house.click("dialog button:last-child");
  await confirm(house, PASSPHRASE);
  await house.waitForFunction(() => !document.body.textContent.includes("helper"));
  assert.equal(await known(), 401);
  await house.context().close();
});

await check("a grant is given and taken back, a person added", async () => {
  const house = await visit();
  await house.goto(PEOPLE + "/grants");
  await house.click("details.add > summary");
  await house.fill("[name=tool]", "send_message");
  await house.fill("[name=targets]", "bo@example.org\nana@example.org");
  await house.click("form.api button.main");
  await confirm(house, PASSPHRASE);
  await house.waitForSelector("text=send_message to bo@example.org, ana@example.org");
  const count = await house.locator(".list li").count();
  await house.click(".list li:has-text('send_message to') [data-method=DELETE]");
  await house.click("dialog button:last-child");
  await confirm(house, PASSPHRASE);
  await house.waitForFunction((was) => document.querySelectorAll("section > .list li").length === was - 1, count);
  await house.goto(PEOPLE + "/people");
  await house.click("details.add > summary");
  await house.fill("[name=name]", "ana");
  await house.click("form.api button.main");
  await confirm(house, PASSPHRASE);
  assert.match(await house.textContent("dialog .secret"), /^[a-z]+(-[a-z]+){4,}/);
  await house.context().close();
});

await check("a session in crisis is shown and lifted with a reason", async () => {
  await agent("POST", "/v1/screen", { text: "I want to kill myself tonight", session: "night" });
  const house = await visit();
  await house.goto(PEOPLE + "/crises");
  assert.match(await house.textContent(".list li"), /session night/);
  await house.fill("[name=reason]", "I spoke to her");
  await house.click(".list li form.line button");
  await confirm(house, PASSPHRASE);
  await house.waitForSelector("text=No session is in a crisis");
  await house.context().close();
});

await check("the ledger is verified in the browser itself", async () => {
  const house = await visit();
  await house.goto(PEOPLE + "/ledger");
  await house.click("#verify");
  await house.waitForFunction(() => /are intact|NOT|could not/.test(document.querySelector("#verified").textContent));
  const said = await house.textContent("#verified");
  assert.match(said, /are intact/);
  // One changed letter on its way is found.
  await house.route("**/v1/ledger/entries*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace("owner", "0wner") });
  });
  await house.click("#verify");
  await house.waitForFunction(() => /NOT/.test(document.querySelector("#verified").textContent));
  await house.context().close();
  return said;
});

for (const [name, viewport, options] of [["a desk of 1280x720", { width: 1280, height: 720 }, {}], ["a phone of 390x844", { width: 390, height: 844 }, { isMobile: true, hasTouch: true }]]) {
  await check(`${name} with thirty pending: the card and its buttons stay in view`, async () => {
    for (let at = (await page.locator(".row:not(.ended)").count()); at < 30; at += 1) await ask(mail("many words ".repeat(30)));
    const seen = await visit({ viewport, ...options });
    await seen.goto(PEOPLE + "/");
    await seen.waitForFunction(() => document.querySelectorAll(".row").length >= 30);
    // The list may be read again meanwhile: the row is known by its request, not by its place.
    const id = await seen.locator(".row:not(.ended)").last().getAttribute("data-id");
    const last = seen.locator(`.row[data-id="${id}"]`);
    await last.scrollIntoViewIfNeeded();
    await last.click();
    await seen.waitForSelector(card(id));
    const view = await seen.evaluate(() => {
      const box = (selector) => { const { top, bottom } = document.querySelector(selector).getBoundingClientRect(); return [top, bottom]; };
      return { page: document.scrollingElement.scrollHeight - innerHeight, boxes: ["#pane h1", ".buttons [data-answer=deny]", ".buttons [data-answer=approve]", "#pane .call"].map(box), height: innerHeight };
    });
    assert.ok(view.page <= 0, `the page itself scrolls by ${view.page} px`);
    for (const [top, bottom] of view.boxes.slice(0, 3)) assert.ok(top >= 0 && bottom <= view.height, JSON.stringify(view));
    assert.ok(view.boxes[3][0] < view.height, "the call begins in view");
    if (SHOTS) await seen.screenshot({ path: `${SHOTS}/thirty-${viewport.width}.png` });
    await seen.context().close();
  });
}

for (const [name, viewport] of [["a phone", { width: 390, height: 844 }], ["a small phone", { width: 320, height: 568 }]]) {
  await check(`${name}: one card, nothing cut off, large buttons apart`, async () => {
    const phone = await visit({ viewport, isMobile: true, hasTouch: true, colorScheme: "dark" });
    await phone.goto(PEOPLE + "/");
    await phone.waitForSelector("#pane article");
    const wide = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${wide} px too wide`);
    const deny = await phone.locator('.buttons [data-answer="deny"]').boundingBox();
    const approve = await phone.locator('.buttons [data-answer="approve"]').boundingBox();
    assert.ok(deny.height >= 48 && approve.height >= 48 && approve.x - deny.x - deny.width >= 16);
    assert.ok(approve.y + approve.height <= viewport.height, "within reach of a thumb");
    if (SHOTS) await phone.screenshot({ path: `${SHOTS}/phone-${viewport.width}.png` });
    await phone.context().close();
  });
}

await check("light and dark, and script from elsewhere or within runs in neither", async () => {
  const grounds = [];
  for (const colorScheme of ["light", "dark"]) {
    const seen = await visit({ colorScheme });
    await seen.goto(PEOPLE + "/");
    grounds.push(await seen.evaluate(() => getComputedStyle(document.documentElement).backgroundColor));
    await seen.evaluate(() => { const s = document.createElement("script"); try { s.textContent = "window.hit=1"; } catch { return; } document.body.append(s); });
    assert.equal(await seen.evaluate(() => window.hit), undefined);
    if (SHOTS) await seen.screenshot({ path: `${SHOTS}/desk-${colorScheme}.png` });
    await seen.context().close();
  }
  assert.notEqual(grounds[0], grounds[1]);
  complaints.length = 0; // the browser itself reports what the policy refused
});

await pages({ PEOPLE, SHOTS, visit, agent, ask, mail, stands, check, complaints, PASSPHRASE });

await check("deny all", async () => {
  await page.click("#deny-all");
  await page.click("dialog button:last-child");
  await page.waitForFunction(() => document.querySelectorAll(".row:not(.ended)").length === 0);
  const { requests } = await agent("GET", "/v1/requests?state=pending");
  assert.equal(requests.length, 0);
});

await check("who moves at the page is told to be there, seldom, and never by a script", async () => {
  const there = await visit();
  const told = [];
  there.on("request", (request) => { if (request.url() === PEOPLE + "/v1/me") told.push(request); });
  await there.goto(PEOPLE + "/history");
  await there.evaluate(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "x", bubbles: true })));
  await there.evaluate(() => fetch("/v1/people"));
  assert.equal(told.length, 0);
  const first = there.waitForRequest(PEOPLE + "/v1/me");
  for (let at = 0; at < 5; at += 1) await there.mouse.click(5, 400 + at);
  await first;
  await there.evaluate(() => fetch("/v1/people"));
  assert.equal(told.length, 1);
  assert.equal((await told[0].response()).status(), 200);
  await there.context().close();
});

await check("a thousand that wait: first paint, one more of them, one less", async () => {
  for (let at = 0; at < 1000; at += 50) await Promise.all(Array.from({ length: 50 }, () => ask(mail("many"))));
  const many = await visit();
  await many.goto(PEOPLE + "/");
  await many.waitForSelector("#pane article");
  const paint = await many.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  await many.waitForFunction(() => document.querySelector("#live").textContent === "live");
  // From the moment in which the page hears of it until it is drawn.
  await many.evaluate(() => {
    window.heard = {};
    const source = new EventSource("/v1/events");
    const note = (name, drawn) => source.addEventListener(name, (event) => {
      const [{ id }, from] = [JSON.parse(event.data), performance.now()];
      const look = () => requestAnimationFrame(() => drawn(id) ? (window.heard[name + id] = performance.now() - from) : look());
      look();
    });
    const row = (id) => document.querySelector(`.row[data-id="${id}"]`);
    note("asked", row);
    note("ended", (id) => !row(id) || row(id).matches(".ended"));
    return new Promise((open) => source.addEventListener("open", open));
  });
  const figures = { asked: [], ended: [] };
  for (let at = 0; at < 7; at += 1) {
    const { id } = await ask({ tool: "terminal", command: `mkfs.ext4 /dev/sd${"abcdefg"[at]}`, timeout_seconds: 500 });
    const drawn = async (name) => (await many.waitForFunction((key) => window.heard[key], name + id)).jsonValue();
    figures.asked.push(await drawn("asked"));
    assert.equal(await many.locator(".row:not(.ended)").count(), 1001);
    await agent("POST", `/v1/requests/${id}/cancel`, {});
    figures.ended.push(await drawn("ended"));
  }
  const middle = (list) => Math.round(list.sort((a, b) => a - b)[3]);
  const [more, less] = [middle(figures.asked), middle(figures.ended)];
  assert.match(await many.textContent("#count"), /^1000 pending/);
  await many.context().close();
  return `${Math.round(paint)} ms, ${more} ms, ${less} ms`;
});

await check("one tap freezes everything; the thaw takes the passphrase, in two stages", async () => {
  assert.deepEqual(complaints, []);
  const [house, { id }] = [await visit(), await ask(mail())];
  await house.click("form.freeze button");
  // Calls are refused at once; the page comes when the thousand of the check before are denied.
  await house.waitForSelector("form.frozen", { timeout: 180_000 });
  assert.match(await house.textContent("form.frozen"), /Frozen by owner\. Every call is refused/);
  assert.equal(await house.locator("form.freeze").count(), 0);
  assert.equal((await stands(id)).state, "denied");
  assert.match((await ask(mail())).detail, /frozen by owner/);
  await house.click("form.frozen button");
  await confirm(house, PASSPHRASE);
  await house.waitForSelector("form.frozen [value=grants]", { state: "attached" });
  assert.equal((await ask(mail())).state, "pending");
  await house.click("form.frozen button");
  await confirm(house, PASSPHRASE);
  await house.waitForSelector("form.frozen", { state: "detached" });
  await house.waitForSelector("form.freeze");
  await house.context().close();
  complaints.length = 0; // the browser itself reports that a proof was required
});

assert.deepEqual(complaints, []);
console.log("the browser had nothing to complain about");
await browser.close();
