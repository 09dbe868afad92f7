// The pages beside the desk: several together, similar calls, sessions, rules, attention, calibration.
import assert from "node:assert/strict";

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

// Being signed in is not enough for a change: the page asks who it is.
export const confirm = async (on, passphrase) => {
  await on.waitForSelector("#confirm");
  await on.fill("#confirm [name=passphrase]", passphrase);
  await on.click("dialog:has(#confirm) button:last-child");
};

export async function pages({ PEOPLE, SHOTS, visit, agent, ask, mail, stands, check, complaints, PASSPHRASE }) {
  let number = 0;
  const restart = (session = "s") => ask({ tool: "terminal", command: `systemctl restart web-${++number}`, session, timeout_seconds: 500 });
  const move = (session) => ask({ tool: "terminal", command: `sudo rm -rf /srv/old-${++number}`, session, timeout_seconds: 500 });
  const wipe = () => ask({ tool: "terminal", command: "mkfs.ext4 /dev/sdz", timeout_seconds: 500 });
  const item = (id) => `article.item[data-id="${id}"]`;

  // Nothing may be cut off on a phone, and each page is looked at in both lights.
  async function shots(name, path, prepare = async () => {}) {
    for (const colorScheme of ["light", "dark"]) {
      for (const [form, options] of [["phone", PHONE], ["desk", {}]]) {
        const seen = await visit({ ...options, colorScheme });
        await seen.goto(PEOPLE + path);
        await prepare(seen);
        // A phone's browser zooms out of what is too wide, so its own figure would fit.
        const wide = await seen.evaluate((width) => document.documentElement.scrollWidth - width, seen.viewportSize().width);
        assert.ok(wide <= 0, `${path} is ${wide} px too wide on a ${form}`);
        if (SHOTS) await seen.screenshot({ path: `${SHOTS}/${name}-${form}-${colorScheme}.png`, fullPage: name !== "review" });
        await seen.context().close();
        if (!SHOTS && form === "desk") return;
      }
    }
  }

  await check("several together: each seen, HIGH opened, CRITICAL not among them", async () => {
    const mild = [await restart(), await restart()];
    const [grave, worst] = [await move("batch"), await wipe()];
    assert.deepEqual([mild[0].tier, grave.tier, worst.tier], ["MEDIUM", "HIGH", "CRITICAL"]);
    const house = await visit();
    await house.goto(PEOPLE + "/review");
    assert.equal(await house.locator(item(worst.id)).count(), 0);
    assert.match(await house.textContent(item(mild[0].id)), /systemctl restart web-/);
    for (const { id } of [...mild, grave]) await house.check(`${item(id)} [name=chosen]`);
    assert.match(await house.textContent("#chosen"), /3 of .* selected\. 1 must be opened/);
    assert.ok(await house.isDisabled("[data-together=approve]"));
    await house.click(`${item(grave.id)} details.opened > summary`);
    await house.waitForFunction(() => /one of the two words/.test(document.querySelector("#chosen").textContent));
    assert.ok(await house.isDisabled("[data-together=approve]"));
    await house.fill(`${item(grave.id)} [name=word]`, grave.phrase.split("-")[0]);
    await house.waitForFunction(() => !document.querySelector("[data-together=approve]").disabled);
    await house.click("[data-together=approve]");
    assert.match(await house.textContent("dialog"), /2 MEDIUM, 1 HIGH|1 HIGH, 2 MEDIUM/);
    assert.equal((await stands(grave.id)).state, "pending");
    await house.click("dialog button:last-child");
    for (const { id } of [...mild, grave]) await house.waitForSelector(`${item(id)}.over`);
    for (const { id } of [...mild, grave]) {
      const { state, decision, digest } = await stands(id);
      assert.equal(state, "approved");
      assert.ok(digest && decision.by.people[0] === "owner");
    }
    assert.equal((await stands(worst.id)).state, "pending");
    // And not by another client either.
    const status = await house.evaluate(async ([id, digest]) => {
      const body = JSON.stringify({ choice: "approve", reason: "x", requests: [{ id, digest }] });
      const headers = { "content-type": "application/json", "x-countersign-proof": await proof("POST", "/v1/decisions", body) };
      return (await (await fetch("/v1/decisions", { method: "POST", headers, body })).json()).results[0];
    }, [worst.id, worst.digest]);
    assert.equal(status.state, null);
    assert.match(status.problem.detail, /one by one/);
    assert.equal((await stands(worst.id)).state, "pending");
    await house.context().close();
  });

  await check("several denied at once; what ends elsewhere is told", async () => {
    const [first, second, third] = [await restart(), await ask(mail("no")), await restart()];
    const house = await visit();
    await house.goto(PEOPLE + "/review");
    await agent("POST", `/v1/requests/${second.id}/cancel`, {});
    await house.waitForFunction((id) => /cancelled meanwhile/.test(document.querySelector(`article.item[data-id="${id}"]`).textContent), second.id);
    for (const { id } of [first, third]) await house.check(`${item(id)} [name=chosen]`);
    await house.fill("#together [name=reason]", "not now");
    await house.click("[data-together=deny]");
    await house.click("dialog button:last-child");
    for (const { id } of [first, third]) await house.waitForSelector(`${item(id)}.over`);
    const { state, decision } = await stands(first.id);
    assert.deepEqual([state, decision.reason], ["denied", "not now"]);
    await restart("shown");
    await move("shown");
    await house.context().close();
    await shots("review", "/review", (seen) => seen.check("article.item:first-of-type [name=chosen]"));
  });

  await check("a card says what became of similar calls, and which grant would cover it", async () => {
    const house = await visit();
    const of = async ({ id }) => { await house.goto(`${PEOPLE}/requests/${id}`); return house.textContent(".earlier"); };
    assert.match(await of(await ask(mail())), /in 30 days: \d+ approved, \d+ denied[^]*exactly this call[^]*would not: this one is HIGH/);
    assert.ok(await house.locator(".earlier li").count() <= 5);
    assert.match(await of(await restart()), /exactly this call, or for every terminal call by [a-z]+ below HIGH/);
    // Many mild calls of the same tool say nothing of a grave one.
    assert.doesNotMatch(await of(await wipe()), /MEDIUM|HIGH/);
    assert.match(await house.textContent(".earlier"), /No grant covers a CRITICAL call/);
    assert.match(await of(await ask({ tool: "wire_money_home", arguments: { amount: 5 }, timeout_seconds: 500 })), /has not submitted a [A-Z]+ wire_money_home call before/);
    await house.context().close();
    const { id } = await ask(mail());
    await shots("card", `/requests/${id}`, (seen) => seen.click(".earlier summary"));
  });

  await check("sessions are counted, lead to their history, and a crisis is lifted there", async () => {
    await ask({ ...mail(), session: "a-session-of-its-own" });
    await agent("POST", "/v1/screen", { text: "I want to kill myself tonight", session: "late" });
    const house = await visit();
    await house.goto(PEOPLE + "/sessions");
    assert.match(await house.textContent(".list li:first-child"), /late[^]*A person may be in crisis/);
    await shots("sessions", "/sessions");
    await house.fill(".list li:first-child [name=reason]", "I spoke to her");
    await house.click(".list li:first-child form.api button");
    await confirm(house, PASSPHRASE);
    await house.waitForFunction(() => !document.body.textContent.includes("A person may be in crisis"));
    await house.click(".list li:has-text('a-session-of-its-own') a.session");
    assert.equal(await house.locator(".past li").count(), 1);
    assert.match(await house.textContent("main"), /Only session a-session-of-its-own/);
    await house.context().close();
  });

  await check("the rules in force are said with the fields that change them", async () => {
    const house = await visit();
    await house.goto(PEOPLE + "/settings");
    const text = await house.textContent("main");
    for (const words of [/Risky calls wait for a person\.\s*mode/, /A request is pending for 5 min/, /times\.usual_seconds/, /escalation\.critical/, /no quiet hours/, /assurance\.high/, /CRITICAL: one person, signed in/, /flood\.asks_per_minute/]) assert.match(text, words);
    assert.equal(await house.locator("main form, main button").count(), 0);
    await house.context().close();
    await shots("settings", "/settings");
  });

  await check("attention: figures, a plot and a table of the same", async () => {
    const house = await visit();
    const long = await ask({ tool: "send_email", arguments: { to: "bo@example.org", body: "a long text ".repeat(60) }, timeout_seconds: 500 });
    await house.goto(PEOPLE + "/"); // for its proof
    await house.evaluate(async ([id, digest]) => {
      const [path, body] = [`/v1/requests/${id}/decision`, JSON.stringify({ choice: "approve", digest })];
      const headers = { "content-type": "application/json", "x-countersign-proof": await proof("POST", path, body) };
      await fetch(path, { method: "POST", headers, body });
    }, [long.id, long.digest]);
    await house.goto(PEOPLE + "/attention");
    assert.match(await house.textContent(".person"), /owner[^]*\d+ answers: \d+ approved, \d+ denied/);
    const drawn = await house.locator(".person svg circle, .person svg path").count();
    assert.ok(drawn > 5, `${drawn} answers are drawn`);
    await house.click(".person details summary");
    assert.ok(await house.locator(".person tbody tr").count() > 5);
    await house.context().close();
    await shots("attention", "/attention");
  });

  await check("without JavaScript a request is denied by name and passphrase, and never approved", async () => {
    const { id } = await ask(mail("plain"));
    for (const storageState of [undefined, { cookies: [], origins: [] }]) {
      const plain = await visit({ javaScriptEnabled: false, ...(storageState && { storageState }) });
      await plain.goto(`${PEOPLE}/requests/${id}`);
      // Strangers see the form and nothing of the call.
      const known = !storageState;
      assert.equal(/bo@example\.org/.test(await plain.textContent("body")), known);
      assert.equal(await plain.locator("form.plain").count(), 1);
      const buttons = await plain.locator("button:visible").allTextContents();
      assert.equal(buttons.length, 1, `visible without a script: ${buttons}`);
      assert.equal(await plain.locator('[data-answer="approve"]:visible').count(), 0);
      await plain.fill("form.plain [name=name]", "owner");
      await plain.fill("form.plain [name=passphrase]", known ? "wrong" : PASSPHRASE);
      if (known && SHOTS) await plain.screenshot({ path: `${SHOTS}/plain-desk-light.png`, fullPage: true });
      await plain.click("form.plain button");
      assert.match(await plain.textContent("h1"), known ? /Wrong credentials/ : /Denied/);
      assert.equal((await stands(id)).state, known ? "pending" : "denied");
      await plain.context().close();
    }
    assert.deepEqual((await stands(id)).decision.by.people, ["owner"]);
    complaints.length = 0; // the browser itself reports the 401
  });

  await check("calibration: the page and the server say the same sentence, and nothing changes", async () => {
    const house = await visit();
    await house.goto(PEOPLE + "/calibration");
    assert.match(await house.textContent("#lines"), /unchanged/);
    await house.waitForLoadState("networkidle");
    await house.locator("[name=medium]").evaluate((field) => { field.value = 300; field.dispatchEvent(new Event("input", { bubbles: true })); });
    const said = await house.textContent("#sentence");
    assert.match(said, /\d+ questions would have been avoided; \d+ denied calls would have passed/);
    assert.match(await house.textContent("#lines"), /\[assessment\]\napi_threshold = 3\.00/);
    await house.context().close();
    const plain = await visit({ javaScriptEnabled: false });
    await plain.goto(PEOPLE + "/calibration?medium=300");
    assert.equal(await plain.textContent("#sentence"), said);
    assert.ok(await plain.isVisible("noscript button, form.calibrate button"));
    await plain.context().close();
    await shots("calibration", "/calibration?medium=250&low=60");
    return said;
  });
}
