// Drives Chromium through the Channels page: a test, a linked account, an unlinked one.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { TOOLS, BROWSER, PEOPLE, TELEGRAM, TOKEN, PASSPHRASE, SHOTS } = process.env;
const { chromium } = createRequire(`${TOOLS}/package.json`)("playwright-core");
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
const browser = await chromium.launch({ executablePath: BROWSER, args: QUIET });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
const complaints = [];
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("console", (line) => { if (line.type() === "error") complaints.push(line.text()); });

const shot = async (name, of = page) => { if (SHOTS) await of.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true }); };
const button = (what) => `[data-path="/v1/channels/telegram/${what}"]`;
const close = async () => { await page.click("dialog button"); await page.waitForLoadState(); await page.waitForSelector("li.channel"); };

// Being signed in is not enough for a change: the page asks who it is.
const confirm = async (on, passphrase = PASSPHRASE) => {
  await on.waitForSelector("#confirm");
  await on.fill("#confirm [name=passphrase]", passphrase);
  await on.click("dialog:has(#confirm) button:last-child");
};

await page.goto(PEOPLE + "/channels");
await page.fill("[name=passphrase]", PASSPHRASE);
await page.click("button.main");
await page.waitForURL(PEOPLE + "/channels");
assert.match(await page.textContent("main"), /people cannot decide here yet/);

await page.click(button("test"));
await page.waitForSelector("dialog");
assert.match(await page.textContent("dialog"), /Sent/);
await close();
assert.match(await page.textContent("main"), /Last message/);
console.log("a test goes out, and the page says when");

await page.click(button("link"));
await confirm(page);
await page.waitForSelector("dialog .secret");
await shot("link");
const [, code] = (await page.textContent("dialog .secret")).match(/^\/link ([A-Z0-9]{8})$/);
assert.equal(await page.getAttribute("dialog a", "href"), `https://t.me/TestNameBot?start=${code}`);
const from = { id: 77, is_bot: false, first_name: "Ana", username: "ana<b>x" };
const said = { botToken: TOKEN, text: `/start ${code}`, from, chat: { id: 77, type: "private" } };
await fetch(TELEGRAM + "/sendMessage", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(said) });
for (let tries = 0; tries < 100 && !(await (await page.request.get(PEOPLE + "/v1/accounts")).json()).accounts.length; tries += 1) await page.waitForTimeout(50);
await close();
await page.waitForSelector(".accounts li");
assert.match(await page.textContent(".accounts li"), /owner is @ana<b>x \(77\)/, "names stay text");
await shot("desktop");
console.log("an account is linked with the code that the page shows");

const phone = await (await browser.newContext({ viewport: { width: 320, height: 640 }, storageState: await context.storageState(), colorScheme: "dark" })).newPage();
await phone.goto(PEOPLE + "/channels");
assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it fits on a small phone");
await shot("phone", phone);

await page.click(".accounts button");
await page.waitForSelector("dialog");
await page.click("dialog button:last-child");
await confirm(page);
await page.waitForSelector(".accounts", { state: "detached" });
console.log("and unlinked again");
assert.deepEqual(complaints, []);
await browser.close();
