// Used by every page: requests to the daemon, dialogs, forms, sign-in.
"use strict";

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
// Only parts of pages that the daemon escaped become markup.
const ours = window.trustedTypes
  ? trustedTypes.createPolicy("countersign", { createHTML: (text) => text, createScriptURL: (address) => (address === "/sw.js" ? address : "") })
  : { createHTML: (text) => text };

function toLogin() {
  const here = location.pathname + location.search;
  location.assign("/login?next=" + encodeURIComponent(here));
}

// A connection that hangs is a failure, or the page would wait for it forever.
const PATIENCE_OF_READS_MS = 15000;

async function fetched(path) {
  const response = await fetch(path, { credentials: "same-origin", signal: AbortSignal.timeout(PATIENCE_OF_READS_MS) });
  if (response.status === 401 || response.status === 403) { toLogin(); throw new Error("signed out"); }
  if (!response.ok) throw new Error(String(response.status));
  const holder = document.createElement("template");
  holder.innerHTML = ours.createHTML(await response.text());
  return holder.content;
}

// ---- the key of the session ----------------------------------------------------------------------
// The browser makes it and no script can read it: whoever copies cookie and storage changes nothing.
function keys(mode, work) {
  return new Promise((done, failed) => {
    const opening = indexedDB.open("countersign", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
    opening.onerror = () => failed(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const request = work(database.transaction("keys", mode).objectStore("keys"));
      request.onsuccess = () => { done(request.result); database.close(); };
      request.onerror = () => { failed(request.error); database.close(); };
    };
  });
}

// The proof of one request: the key signs method, path, body and time.
async function proof(method, path, text = "") {
  const kept = await keys("readonly", (store) => store.get("session")).catch(() => undefined);
  if (!kept) return "";
  const [url, bytes, time] = [new URL(path, location.origin), new TextEncoder(), Date.now() + kept.ahead];
  const body = toText(await crypto.subtle.digest("SHA-256", bytes.encode(text)));
  const said = `countersign session 1\n${method} ${url.pathname}${url.search}\n${body}\n${time}\n`;
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, kept.key, bytes.encode(said));
  return `${kept.salt}.${kept.shown}.${time}.${toText(signature)}`;
}

async function send(method, path, body, exact, confirmed) {
  let text = body && JSON.stringify(body);
  // As it was typed: JavaScript's numbers would lose digits of long ones.
  if (exact) text = `${text.slice(0, -1)},${JSON.stringify(exact.name)}:${exact.text}}`;
  const headers = { "content-type": "application/json", "x-countersign-proof": await proof(method, path, text) };
  if (confirmed) headers["x-countersign-step-up"] = confirmed;
  const response = await fetch(path, { method, headers, body: text, credentials: "same-origin" });
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401 || answer.why === "no-proof") { toLogin(); throw new Error("signed out"); }
  // A session is not enough for this change: the person confirms it.
  if (answer.type === "urn:countersign:problem:step-up-required" && !confirmed) return send(method, path, body, exact, await confirmation(method, path, text));
  if (!response.ok) throw Object.assign(new Error(answer.detail ?? "The daemon did not answer. Nothing was approved."), { type: answer.type });
  return answer;
}

// ---- clicks and input --------------------------------------------------------
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
    const act = () => change(target.dataset.method, target.dataset.path, target.dataset.method === "POST" ? {} : undefined, target.dataset.once, target.dataset.open)
      .catch((error) => ask("Failed", error.message));
    ask(target.textContent, target.dataset.question, { label: target.textContent, act });
  }
});

document.addEventListener("input", (event) => {
  const card = event.target.closest("article.card");
  if (card && event.target.matches("input[name=unseen]")) fold(card);
  if (event.target.matches("textarea[name=edited]")) discardEdit(card);
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
  button(yes ? "Cancel" : "Close");
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
    if (field.dataset.tool !== undefined && field.value) (body.labels ??= []).push({ tool: field.dataset.tool, label: field.value });
    const text = field.name && field.value.trim();
    if (!text && !(field.type === "hidden" && field.name)) continue;
    body[field.name] = field.dataset.number ? Number(text) : field.dataset.boolean ? text === "true" : field.dataset.lines ? text.split("\n").map((line) => line.trim()).filter(Boolean) : text;
  }
  return body;
}

async function change(method, path, body, once, open) {
  const answer = open ? await send(method, path, body) : await sendConfirmed(method, path, body);
  if (!once) return location.reload();
  const box = ask("Copy it now", "It is not stored and is shown only once:", undefined, () => location.reload());
  const secret = document.createElement("p");
  secret.className = "secret";
  secret.textContent = answer[once];
  box.insertBefore(secret, box.lastElementChild);
}

// Sends a test message, or gets a code that links an account, and shows the result.
async function tell(button) {
  button.disabled = true;
  try {
    const answer = await (button.dataset.tell === "test" ? send : sendConfirmed)("POST", button.dataset.path, {});
    if (button.dataset.tell === "test") {
      const [title, text] = answer.sent ? ["Sent", "A test message was sent. " + (answer.taps ? "Tap its button from your linked account; this page then shows it." : "Check whether it arrived.")] : ["Not sent", answer.problem];
      ask(title, text, undefined, () => location.reload());
    } else {
      const box = ask("Link your account", "Send this there from your own account within ten minutes. The code works once.", undefined, () => location.reload());
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
  } catch (error) { ask("Failed", error.message); }
  button.disabled = false;
}

// ---- the ledger, verified in this browser ----------------------------------
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
    told.textContent = hex === root ? `All ${size} entries are intact: they hash to the root above.` : `The entries do NOT hash to the root above, but to ${hex}. The ledger was changed.`;
    told.className = hex === root ? "" : "wrong";
  } catch (error) { told.textContent = "The ledger could not be verified: " + error.message; }
  button.disabled = false;
}

// ---- sign in and out --------------------------------------------------------------------------
async function login(form) {
  const wrong = one(".wrong", form);
  wrong.textContent = "";
  try {
    if (!window.crypto?.subtle) throw new Error("This browser signs only over https or at 127.0.0.1. Open the inbox there.");
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
    const shown = toText(await crypto.subtle.exportKey("raw", pair.publicKey));
    const said = { name: form.elements.name.value, passphrase: form.elements.passphrase.value, channel: "web", key: shown };
    const response = await fetch("/v1/login", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(said) });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.detail);
    const session = { key: pair.privateKey, shown, salt: answer.salt, ahead: answer.now - Date.now() };
    await keys("readwrite", (store) => store.put(session, "session")).catch(() => {
      throw new Error("This window does not keep the key of the session. Use a window that is not private.");
    });
    location.assign(form.dataset.next);
  } catch (error) {
    wrong.textContent = error.message;
    form.elements.passphrase.select();
  }
}

async function leave() {
  try { await send("DELETE", "/v1/login"); } catch { /* the session expires by itself */ }
  await keys("readwrite", (store) => store.delete("session")).catch(() => {});
  location.assign("/login");
}

function say(text) { const live = one("#live"); if (live) live.textContent = text; }

// ---- presence: phones are notified later while someone is here --------------------------------------------
const HERE_MS = 20000;
let saidAt = -HERE_MS;
function here(event) {
  if (!event.isTrusted || performance.now() - saidAt < HERE_MS) return;
  saidAt = performance.now();
  proof("POST", "/v1/me")
    .then((signed) => signed && fetch("/v1/me", { method: "POST", headers: { "x-countersign-proof": signed }, credentials: "same-origin" }))
    .catch(() => {});
}
if (one("#leave")) for (const kind of ["pointerdown", "keydown", "touchstart"]) addEventListener(kind, here, { passive: true, capture: true });

