// The inbox: follows what happens, moves between requests, answers.
"use strict";

const KEPT = "countersign-proof";
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
// Parts of pages come from our own door, escaped there; nothing else becomes markup.
const ours = window.trustedTypes
  ? trustedTypes.createPolicy("countersign", { createHTML: (text) => text, createScriptURL: (address) => (address === "/sw.js" ? address : "") })
  : { createHTML: (text) => text };
// A card that has just come up takes no answer: the finger was meant for another one.
const SETTLE_MS = 450;
let shownAt = performance.now();

function toLogin() {
  const here = location.pathname + location.search;
  location.assign("/login?next=" + encodeURIComponent(here));
}

async function fetched(path) {
  const response = await fetch(path, { credentials: "same-origin" });
  if (response.status === 401 || response.status === 403) { toLogin(); throw new Error("logged out"); }
  if (!response.ok) throw new Error(String(response.status));
  const holder = document.createElement("template");
  holder.innerHTML = ours.createHTML(await response.text());
  return holder.content;
}

async function send(method, path, body, exact, confirmed) {
  let text = body && JSON.stringify(body);
  // As it was typed: JavaScript's numbers would lose digits of long ones.
  if (exact) text = `${text.slice(0, -1)},${JSON.stringify(exact.name)}:${exact.text}}`;
  const headers = { "content-type": "application/json", "x-countersign-proof": localStorage.getItem(KEPT) ?? "" };
  if (confirmed) headers["x-countersign-step-up"] = confirmed;
  const response = await fetch(path, { method, headers, body: text, credentials: "same-origin" });
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401 || answer.why === "no-proof") { toLogin(); throw new Error("logged out"); }
  // Being signed in is not enough for this: the person confirms it, once for each change.
  if (answer.type === "urn:countersign:problem:step-up-required" && !confirmed) return send(method, path, body, exact, await confirmation(method, path, text));
  if (!response.ok) throw Object.assign(new Error(answer.detail ?? "The gate did not answer. Nothing was approved."), { type: answer.type });
  return answer;
}

// ---- time: a line that shrinks by itself -------------------------------------------------------
function run(within) {
  for (const left of all("[data-left]", within)) {
    const line = one(".line", left);
    const [rest, whole] = [Number(left.dataset.left), Number(left.dataset.whole)];
    if (line) line.style.animation = `shrink ${whole}ms linear ${rest - whole}ms both`;
  }
}

// ---- the list ----------------------------------------------------------------------------------
// A thousand may wait: rows are known by name, one changes at a time, and nothing is measured.
const rows = one("#rows");
const known = new Map(all(".row", rows ?? document.createElement("p")).map((row) => [row.dataset.id, row]));
let current = rows && one(".row[aria-current]", rows);
let gone = 0; // rows that have ended and stay for five seconds

function count() {
  const waiting = known.size - gone;
  one("#count").textContent = waiting === 0 ? "Nothing waits" : waiting === 1 ? "1 waits" : `${waiting} wait`;
  one("#deny-all").hidden = one("#review-all").hidden = waiting === 0;
  document.title = (waiting ? `(${waiting}) ` : "") + "Waiting · Countersign";
}

function before(a, b) {
  const [x, y] = [Number(a.dataset.rank), Number(b.dataset.rank)];
  return x !== y ? x > y : Number(a.dataset.deadline) < Number(b.dataset.deadline);
}

function drop(row) {
  if (known.get(row.dataset.id) !== row) return;
  known.delete(row.dataset.id);
  if (row.matches(".ended")) gone -= 1;
  row.remove();
}

function place(row) {
  // It may have ended while its row was on its way.
  if (row.matches(".ended")) return;
  const old = known.get(row.dataset.id);
  if (old) drop(old);
  if (old && old === current) { current = row; row.setAttribute("aria-current", "true"); }
  known.set(row.dataset.id, row);
  run(row);
  // While somebody points at the list nothing in it moves: what is new goes to its end.
  const [still, top] = [rows.matches(":hover"), rows.scrollTop];
  let next = still ? null : rows.firstElementChild;
  while (next && !before(row, next)) next = next.nextElementSibling;
  rows.insertBefore(row, next);
  if (next && top > 0 && next.offsetTop < top) rows.scrollTop = top + row.offsetHeight;
}

const wanted = new Set();
let fetching = false;
async function soon(id) {
  wanted.add(id);
  if (fetching) return;
  fetching = true;
  try {
    while (wanted.size > 0) {
      const ids = [...wanted];
      wanted.clear();
      if (ids.length > 12) await readAll();
      else (await Promise.all(ids.map((each) => fetched(`/inbox/row/${each}`)))).forEach((part) => place(part.firstElementChild));
    }
  } catch (error) { say("The list may be old: " + error.message); }
  fetching = false;
  count();
  if (!one("#pane article")) select(one(".row", rows)?.dataset.id);
}

async function readAll() {
  const fresh = await fetched("/inbox/rail");
  const looked = current?.dataset.id;
  rows.replaceChildren(fresh);
  known.clear();
  gone = 0;
  for (const row of all(".row", rows)) known.set(row.dataset.id, row);
  run(rows);
  mark(looked);
  count();
}

// Reads what is not here yet and takes out what has ended, and leaves the rest alone.
async function catchUp() {
  const text = (await fetched("/inbox/ids")).textContent;
  const waiting = new Set(text.split("\n").filter(Boolean));
  const missing = [...waiting].filter((id) => !known.has(id));
  if (missing.length > 12) return readAll();
  for (const [id, row] of known) if (!waiting.has(id) && row !== current) drop(row);
  missing.forEach(soon);
  count();
}

function mark(id) {
  current?.removeAttribute("aria-current");
  current = known.get(id) ?? null;
  current?.setAttribute("aria-current", "true");
}

async function select(id, focus) {
  if (!id) return;
  mark(id);
  const card = (await fetched(`/inbox/card/${id}`)).firstElementChild;
  one("#pane").replaceChildren(card);
  one("#pane").scrollTop = 0;
  shownAt = performance.now();
  run(card);
  fold(card);
  history.replaceState(null, "", `/?r=${id}`);
  if (focus) one("h1", card).focus();
  current?.scrollIntoView({ block: "nearest" });
}

function ended(id, state) {
  const row = known.get(id);
  if (row && !row.matches(".ended")) {
    row.classList.add("ended");
    gone += 1;
    row.querySelector(".by").textContent = state;
    setTimeout(() => { if (row !== current) drop(row); }, 5000);
  }
  count();
  const card = one(`#pane article[data-id="${id}"]`);
  if (!card) return;
  // The card stays, says who decided, and makes room after five seconds.
  fetched(`/inbox/card/${id}`).then((fresh) => {
    card.replaceWith(fresh);
    setTimeout(() => {
      if (!one(`#pane article[data-id="${id}"]`)) return;
      if (row) drop(row);
      const next = one(".row:not(.ended)", rows);
      if (next) select(next.dataset.id);
    }, one("#pane .drill") ? 30000 : 5000); // what is said of a drill takes longer to read
  }).catch(() => {});
}

function move(by) {
  const list = all(".row:not(.ended)", rows);
  const at = list.indexOf(current);
  const next = list[Math.min(Math.max(at + by, 0), list.length - 1)];
  if (next) select(next.dataset.id, true);
}

// ---- the answer --------------------------------------------------------------------------------
function fold(card) {
  const folded = all("pre.long:not(.open)", card).length > 0;
  const unseen = one("input[name=unseen]", card);
  for (const button of all('[data-answer="approve"], [data-edit="approve"]', card)) {
    button.disabled = folded || (unseen !== null && !unseen.checked);
    button.title = folded ? "Show all of it first" : "";
  }
}

async function answer(card, choice, extra = {}) {
  if (performance.now() - shownAt < SETTLE_MS) return;
  const field = one("input[name=reason]", card);
  const reason = extra.says ?? field.value.trim();
  const wrong = one(".wrong[role=alert]", card);
  if (choice === "approve" && field.dataset.needed && !reason) {
    wrong.textContent = "Say why it may happen.";
    field.focus();
    return;
  }
  const body = { choice, reason, digest: card.dataset.digest };
  if (extra.shape) body.grant = { shape: extra.shape, scope: extra.scope, ...(extra.minutes && { minutes: Number(extra.minutes) }) };
  const exact = extra.edited && { name: "edited_arguments", text: extra.edited };
  for (const button of all("button", card)) button.disabled = true;
  try {
    const decided = await decision(card.dataset.id, body, exact);
    if (rows) {
      if (decided.state === "pending") select(card.dataset.id);
      else ended(card.dataset.id, decided.state);
    } else location.reload();
  } catch (error) {
    for (const button of all("button", card)) button.disabled = false;
    fold(card);
    wrong.textContent = error.message;
  }
}

// JSON with a line for each value, every digit and escape as it stands in the text.
function lines(json) {
  let [out, depth, inside] = ["", 0, false];
  for (let at = 0; at < json.length; at += 1) {
    const c = json[at];
    if (inside) { out += c; if (c === "\\") out += json[++at]; else if (c === '"') inside = false; }
    else if (c === '"') { out += c; inside = true; }
    else if (c === "{" || c === "[") { depth += 1; out += c + "\n" + " ".repeat(depth); }
    else if (c === "}" || c === "]") { depth -= 1; out += "\n" + " ".repeat(depth) + c; }
    else if (c === ",") out += ",\n" + " ".repeat(depth);
    else if (c === ":") out += ": ";
    else if (!/\s/.test(c)) out += c;
  }
  return out.split("\n");
}

// What was taken out and what was put in, line by line, in order.
function difference(was, now) {
  const [old, fresh] = [lines(was), lines(now)];
  const same = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      same[i][j] = old[i] === fresh[j] ? same[i + 1][j + 1] + 1 : Math.max(same[i + 1][j], same[i][j + 1]);
    }
  }
  const out = [];
  const add = (text, kind) => { const span = document.createElement("span"); span.className = kind; span.textContent = text + "\n"; out.push(span); };
  for (let i = 0, j = 0; i < old.length || j < fresh.length;) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) { i += 1; j += 1; }
    else if (j >= fresh.length || (i < old.length && same[i + 1][j] >= same[i][j + 1])) { add("- " + old[i], "out"); i += 1; }
    else { add("+ " + fresh[j], "in"); j += 1; }
  }
  return out;
}

function edit(card, step) {
  const area = one("textarea[name=edited]", card);
  const wrong = one(".wrong[role=alert]", card);
  const shown = one(".difference", card);
  const edited = area.value;
  try { JSON.parse(edited); } catch (error) { wrong.textContent = "This is not JSON: " + error.message; return; }
  wrong.textContent = "";
  if (step === "approve") return answer(card, "approve", { edited });
  const lines = difference(area.dataset.was, edited);
  shown.replaceChildren(...(lines.length ? lines : ["Nothing is different."]));
  shown.hidden = false;
  one('[data-edit="approve"]', card).hidden = lines.length === 0;
}

// ---- everything that is tapped or typed --------------------------------------------------------
document.addEventListener("click", (event) => {
  const target = event.target.closest("button, a.row");
  if (!target) return;
  const card = target.closest("article.card");
  if (target.matches("a.row")) { event.preventDefault(); select(target.dataset.id); }
  else if (target.matches(".more") && target.tagName === "BUTTON") {
    one("pre.long", target.parentElement).classList.add("open");
    target.remove();
    fold(card);
  } else if (target.dataset.answer) answer(card, target.dataset.answer, target.dataset);
  else if (target.dataset.edit) edit(card, target.dataset.edit);
  else if (target.id === "deny-all") denyAll();
  else if (target.id === "leave") leave();
  else if (target.id === "verify") verify(target);
  else if (target.dataset.tell) tell(target);
  else if (target.dataset.method) {
    const act = () => change(target.dataset.method, target.dataset.path, target.dataset.method === "POST" ? {} : undefined, target.dataset.once)
      .catch((error) => ask("That was not done", error.message));
    ask(target.textContent, target.dataset.question, { label: target.textContent, act });
  }
});

document.addEventListener("input", (event) => {
  const card = event.target.closest("article.card");
  if (card && event.target.matches("input[name=unseen]")) fold(card);
  if (event.target.matches("textarea[name=edited]")) one('[data-edit="approve"]', card).hidden = true;
});

document.addEventListener("submit", (event) => {
  if (event.target.id === "login") { event.preventDefault(); login(event.target); }
  else if (event.target.matches("form.api")) {
    event.preventDefault();
    const form = event.target;
    change(form.dataset.method, form.dataset.path, said(form), form.dataset.once, form.dataset.open)
      .catch((error) => { one(".wrong", form).textContent = error.message; });
  }
  // Enter in the reason's field never decides.
  else if (event.target.id === "answer") event.preventDefault();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const card = one("#pane article");
  const button = (kind) => card && one(`.buttons [data-answer="${kind}"]`, card);
  if (event.key === "j" || event.key === "k") { if (rows) move(event.key === "j" ? 1 : -1); }
  // The first press points at the button, the second one presses it.
  else if (event.key === "a" || event.key === "d") {
    const wanted = button(event.key === "a" ? "approve" : "deny");
    if (!wanted) return;
    if (document.activeElement === wanted) wanted.click(); else wanted.focus();
  } else if (event.key === "?") ask("Keys", "j and k move, a points at Approve and a second a presses it, d the same for Deny, Esc leaves a field.");
  else return;
  event.preventDefault();
});

function ask(title, text, yes, closed) {
  const box = document.createElement("dialog");
  const head = document.createElement("h2");
  const words = document.createElement("p");
  const buttons = document.createElement("div");
  [head.textContent, words.textContent, buttons.className] = [title, text, "buttons"];
  const button = (label, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", () => { box.close(); act?.(); });
    buttons.append(made);
  };
  button(yes ? "Leave it" : "Close");
  if (yes) button(yes.label, yes.act);
  box.append(head, words, buttons);
  box.addEventListener("close", () => { box.remove(); closed?.(); });
  document.body.append(box);
  box.showModal();
  return box;
}

// ---- lists that can be changed -----------------------------------------------------------------
function said(form) {
  const body = {};
  for (const field of form.elements) {
    const text = field.name && field.value.trim();
    if (!text && !(field.type === "hidden" && field.name)) continue;
    body[field.name] = field.dataset.number ? Number(text) : field.dataset.lines ? text.split("\n").map((line) => line.trim()).filter(Boolean) : text;
  }
  return body;
}

async function change(method, path, body, once, open) {
  const answer = open ? await send(method, path, body) : await sendConfirmed(method, path, body);
  if (!once) return location.reload();
  const box = ask("Shown this once", "It is kept nowhere. Copy it now:", undefined, () => location.reload());
  const secret = document.createElement("p");
  secret.className = "secret";
  secret.textContent = answer[once];
  box.insertBefore(secret, box.lastElementChild);
}

// A test through a channel, or a code that links an account: what came of it is said.
async function tell(button) {
  button.disabled = true;
  try {
    const answer = await (button.dataset.tell === "test" ? send : sendConfirmed)("POST", button.dataset.path, {});
    if (button.dataset.tell === "test") {
      const [title, text] = answer.sent ? ["Sent", "A test message is on its way. " + (answer.taps ? "Tap its button from your linked account; this page then says so." : "Look whether it arrived.")] : ["Not sent", answer.problem];
      ask(title, text, undefined, () => location.reload());
    } else {
      const box = ask("Link your account", "Within ten minutes, say this there from your own account. The code works once.", undefined, () => location.reload());
      const code = document.createElement("p");
      [code.className, code.textContent] = ["secret", answer.say];
      box.insertBefore(code, box.lastElementChild);
      if (answer.open?.startsWith("https://")) {
        const [line, link] = [document.createElement("p"), document.createElement("a")];
        [link.href, link.rel, link.target, link.textContent] = [answer.open, "noreferrer", "_blank", "Or open this and press Start"];
        line.append(link);
        box.insertBefore(line, box.lastElementChild);
      }
    }
  } catch (error) { ask("That was not done", error.message); }
  button.disabled = false;
}

// ---- the ledger, checked here and not on the word of the gate ----------------------------------
async function sha(...parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) { bytes.set(part, at); at += part.length; }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

async function verify(button) {
  const { size, root } = button.parentElement.dataset;
  const told = one("#verified");
  const [leaf, node, text] = [Uint8Array.of(0), Uint8Array.of(1), new TextEncoder()];
  button.disabled = true;
  const stack = []; // complete subtrees, the largest first
  try {
    for (let at = 0; at < Number(size);) {
      const response = await fetch(`/v1/ledger/entries?from=${at}&limit=${Math.min(1000, size - at)}`, { credentials: "same-origin" });
      const { entries } = await response.json();
      if (!entries?.length) throw new Error(`entry ${at} is missing`);
      for (const entry of entries) {
        // Entries are canonical JSON (RFC 8785), which is what JavaScript writes.
        let [hash, height] = [await sha(leaf, text.encode(JSON.stringify(entry))), 0];
        while (stack.length && stack.at(-1).height === height) {
          hash = await sha(node, stack.pop().hash, hash);
          height += 1;
        }
        stack.push({ hash, height });
        at += 1;
      }
      told.textContent = `${at} of ${size} entries`;
    }
    let hash = stack.pop()?.hash ?? await sha();
    while (stack.length) hash = await sha(node, stack.pop().hash, hash);
    const hex = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    told.textContent = hex === root ? `All ${size} entries are whole: they hash to the root above.` : `The entries do NOT hash to the root above, but to ${hex}. Somebody changed the ledger.`;
    told.className = hex === root ? "" : "wrong";
  } catch (error) { told.textContent = "It could not be checked: " + error.message; }
  button.disabled = false;
}

function denyAll() {
  const waiting = all(".row:not(.ended)", rows);
  const act = async () => {
    const requests = waiting.map((row) => ({ id: row.dataset.id }));
    try {
      for (let at = 0; at < requests.length; at += 500) {
        const { results } = await send("POST", "/v1/decisions", { choice: "deny", reason: "everything was denied at once", requests: requests.slice(at, at + 500) });
        for (const { drill } of results) if (drill) ask("A drill", drill.words);
      }
    } catch (error) { say(error.message); }
    readAll();
  };
  ask(`Deny all ${waiting.length}?`, "Every request that waits is denied. Agents are told so.", { label: "Deny all", act });
}

// ---- coming and going --------------------------------------------------------------------------
async function login(form) {
  const wrong = one(".wrong", form);
  wrong.textContent = "";
  try {
    const said = { name: form.elements.name.value, passphrase: form.elements.passphrase.value, channel: "web" };
    const response = await fetch("/v1/login", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(said) });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.detail);
    localStorage.setItem(KEPT, answer.proof);
    location.assign(form.dataset.next);
  } catch (error) {
    wrong.textContent = error.message;
    form.elements.passphrase.select();
  }
}

async function leave() {
  try { await send("DELETE", "/v1/login"); } catch { /* then it ends by itself */ }
  localStorage.removeItem(KEPT);
  location.assign("/login");
}

function say(text) { const live = one("#live"); if (live) live.textContent = text; }

function follow() {
  const source = new EventSource("/v1/events");
  const hear = (name, act) => source.addEventListener(name, (event) => act(JSON.parse(event.data)));
  hear("asked", (request) => soon(request.id));
  hear("climbed", (request) => soon(request.id));
  hear("voted", (request) => { if (one(`#pane article[data-id="${request.id}"]`)) select(request.id); });
  hear("ended", (request) => ended(request.id, request.state));
  hear("again", () => readAll().catch(() => {}));
  // What came between this page and its stream was told to nobody: look once more.
  source.addEventListener("open", () => { say("live"); catchUp().catch(() => {}); });
  source.addEventListener("error", () => say("not connected, trying again"));
}

// ---- somebody is here: phones wait a little for them --------------------------------------------
const HERE_MS = 20000;
let saidAt = -HERE_MS;
function here(event) {
  if (!event.isTrusted || performance.now() - saidAt < HERE_MS || !localStorage.getItem(KEPT)) return;
  saidAt = performance.now();
  const headers = { "x-countersign-proof": localStorage.getItem(KEPT) };
  fetch("/v1/me", { method: "POST", headers, credentials: "same-origin" }).catch(() => {});
}
if (one("#leave")) for (const kind of ["pointerdown", "keydown", "touchstart"]) addEventListener(kind, here, { passive: true, capture: true });

run(document);
// On a phone the menu is wider than the screen.
one(".top nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
for (const card of all("article.card")) fold(card);
if (rows) { count(); follow(); }
