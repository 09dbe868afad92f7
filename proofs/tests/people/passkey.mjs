// Drives Chromium with a virtual authenticator: a passkey is added, signs, and is misused.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const { TOOLS, BROWSER, PORT, AGENTS, AGENT_TOKEN, PASSPHRASE, SHOTS } = process.env;
const { chromium } = createRequire(`${TOOLS}/package.json`)("playwright-core");
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
const NAMED = `http://localhost:${PORT}`;

const browser = await chromium.launch({ executablePath: BROWSER, args: QUIET });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
const page = await context.newPage();
const complaints = [];
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("console", (line) => { if (line.type() === "error" && !line.text().includes("Failed to load resource")) complaints.push(line.text()); });

async function agent(method, path, body) {
  const headers = { authorization: `Bearer ${AGENT_TOKEN}`, "content-type": "application/json" };
  const response = await fetch(AGENTS + path, { method, headers, body: body && JSON.stringify(body) });
  return response.json();
}

let number = 0;
const critical = () => agent("POST", "/v1/requests", { tool: "terminal", command: `rm -rf / --no-preserve-root ${++number}`, timeout_seconds: 500 });
const stands = async (id) => (await agent("GET", `/v1/requests/${id}`)).state;
const shot = async (name) => { if (SHOTS) await page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true }); };

async function check(what, act) {
  const figure = await act();
  console.log(figure === undefined ? what : `${what}: ${figure}`);
}

async function authenticator(of) {
  const session = await context.newCDPSession(of);
  await session.send("WebAuthn.enable");
  const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", { options });
  return { authenticatorId, send: (method, more = {}) => session.send(`WebAuthn.${method}`, { authenticatorId, ...more }) };
}

// What the page itself would send, with another request's name or another signature.
const yes = (asked) => ({ choice: "approve", digest: asked.digest, reason: "a machine that is thrown away" });
const signed = (asked) => page.evaluate(([id, body]) => signature(id, body), [asked.id, yes(asked)]);
const decides = (asked, passkey) => page.evaluate(async ([id, body]) => {
  const [path, text] = [`/v1/requests/${id}/decision`, JSON.stringify(body)];
  const headers = { "content-type": "application/json", "x-countersign-proof": await proof("POST", path, text) };
  const response = await fetch(path, { method: "POST", headers, body: text });
  const { why, type, state } = await response.json();
  return { status: response.status, why, type, state };
}, [asked.id, { ...yes(asked), passkey }]);

async function refused(asked, passkey, why) {
  const answer = await decides(asked, passkey);
  assert.deepEqual([answer.status, answer.why], [403, why]);
  assert.equal(await stands(asked.id), "pending");
}

// Being signed in is not enough for a change: the page asks who it is.
const confirm = async (on, passphrase = PASSPHRASE) => {
  await on.waitForSelector("#confirm");
  await on.fill("#confirm [name=passphrase]", passphrase);
  await on.click("dialog:has(#confirm) button:last-child");
};

async function login(origin) {
  await page.goto(`${origin}/devices`);
  await page.fill("[name=passphrase]", PASSPHRASE);
  await page.click("button.main");
  await page.waitForURL(`${origin}/devices`);
}

await check("at an address of numbers the page says where passkeys work", async () => {
  await login(`http://127.0.0.1:${PORT}`);
  assert.equal(await page.getAttribute(".notice a", "href"), `${NAMED}/devices`);
  assert.equal(await page.locator("#add-passkey").count(), 0);
  await shot("devices-by-number");
});

await login(NAMED);
const device = await authenticator(page);

await check("no passkey is added with a wrong passphrase", async () => {
  await page.fill("#add-passkey [name=name]", "desk");
  await page.click("#add-passkey button");
  await confirm(page, "not the passphrase");
  await page.waitForFunction(() => /wrong passphrase/.test(document.querySelector("#add-passkey .wrong").textContent));
  const { credentials } = await device.send("getCredentials");
  for (const { credentialId } of credentials) await device.send("removeCredential", { credentialId });
});

await check("a passkey is added", async () => {
  await page.click("#add-passkey button");
  await confirm(page);
  await page.waitForSelector("li:has-text('not used yet')");
  await shot("devices");
});

await check("a login alone approves nothing CRITICAL any more", async () => {
  const asked = await critical();
  const answer = await decides(asked, undefined);
  assert.deepEqual([answer.status, answer.type], [403, "urn:countersign:problem:passkey"]);
  assert.equal(await stands(asked.id), "pending");
});

let sent;
page.on("request", (request) => { if (request.url().endsWith("/decision") && request.postDataJSON()?.passkey) sent = request.postDataJSON().passkey; });

await check("reason, button, passkey: the card is approved", async () => {
  const asked = await critical();
  await page.goto(`${NAMED}/?r=${asked.id}`);
  await page.waitForSelector(`#pane article[data-id="${asked.id}"]`);
  await page.waitForFunction(() => performance.now() - shownAt >= SETTLE_MS);
  await shot("critical-card");
  await page.fill("[name=reason]", "a machine that is thrown away");
  await page.click('.buttons [data-answer="approve"]');
  await page.waitForSelector(`#pane article[data-id="${asked.id}"][data-state=approved]`);
  assert.equal(await stands(asked.id), "approved");
  assert.ok(sent.signature);
});

await check("the same signature under another request is refused", async () => {
  await refused(await critical(), sent, "challenge");
});

await check("a signature for another request is refused, and used up", async () => {
  const [one, two] = [await critical(), await critical()];
  const passkey = await signed(one);
  await refused(two, passkey, "challenge");
  await refused(one, passkey, "challenge");
});

await check("a passkey that does not know who touches it is not used", async () => {
  const asked = await critical();
  await device.send("setUserVerified", { isUserVerified: false });
  const problem = await signed(asked).then(() => "signed", (error) => error.message);
  assert.match(problem, /was not used/);
  await device.send("setUserVerified", { isUserVerified: true });
});

await check("a page on another port of this machine gets a signature that counts for nothing", async () => {
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end("<title>x</title>"));
  await new Promise((resolve) => server.listen(0, "localhost", resolve));
  const asked = await critical();
  const challenge = await page.evaluate(([id, body]) => send("POST", `/v1/requests/${id}/challenge`, body), [asked.id, yes(asked)]);
  const { credentials: [credential] } = await device.send("getCredentials");
  const other = await context.newPage();
  await other.goto(`http://localhost:${server.address().port}/`);
  const thief = await authenticator(other);
  await thief.send("addCredential", { credential: { ...credential, signCount: credential.signCount + 50 } });
  const passkey = await other.evaluate(async ({ challenge, place, known }) => {
    const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    const text = (from) => btoa(String.fromCharCode(...new Uint8Array(from))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    const publicKey = { challenge: bytes(challenge), rpId: place, userVerification: "required", allowCredentials: known.map((id) => ({ type: "public-key", id: bytes(id) })) };
    const { rawId, response } = await navigator.credentials.get({ publicKey });
    return { id: text(rawId), client_data: text(response.clientDataJSON), authenticator_data: text(response.authenticatorData), signature: text(response.signature) };
  }, challenge);
  await other.close();
  server.close();
  await refused(asked, passkey, "origin");
});

await check("a copy of the passkey that counts from the beginning is refused", async () => {
  const asked = await critical();
  const { credentials: [credential] } = await device.send("getCredentials");
  await device.send("removeCredential", { credentialId: credential.credentialId });
  await device.send("addCredential", { credential: { ...credential, signCount: 0 } });
  await refused(asked, await signed(asked), "copied");
  await device.send("removeCredential", { credentialId: credential.credentialId });
  await device.send("addCredential", { credential: { ...credential, signCount: credential.signCount + 100 } });
  const answer = await decides(asked, await signed(asked));
  assert.deepEqual([answer.status, answer.state], [200, "approved"]);
});

await check("removed with the passkey itself, and a login is enough again", async () => {
  await page.goto(`${NAMED}/devices`);
  assert.match(await page.textContent("ul.list li"), /last used/);
  await page.click("ul.list li summary");
  await page.click("ul.list li form button");
  await page.waitForSelector("text=You have no passkeys.");
  const answer = await decides(await critical(), undefined);
  assert.deepEqual([answer.status, answer.state], [200, "approved"]);
});

await check("the app can be installed, and its worker runs at the root", async () => {
  const scope = await page.evaluate(async () => (await navigator.serviceWorker.ready).scope);
  assert.equal(scope, `${NAMED}/`);
  const session = await context.newCDPSession(page);
  const { errors } = await session.send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
  const kept = await page.evaluate(() => caches.keys());
  assert.deepEqual(kept, []);
  // A window without a profile cannot install anything; nothing else may be wrong.
  const wrong = installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== "in-incognito");
  assert.deepEqual(wrong, []);
});

await check("on a phone", async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(`${NAMED}/devices`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false);
  await shot("devices-phone");
});

assert.deepEqual(complaints, []);
await browser.close();
