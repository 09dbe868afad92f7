// The answer to a card: buttons, keys, the typed word, and the edited call.
"use strict";

// ---- what an answer needs ----------------------------------------------------------------------
// An answer is taken only where the list, the card on the screen and its digest name the same call.
function answerable(card) {
  if (!card?.isConnected || card.dataset.state !== "pending") return false;
  if (!rows) return true; // the page of one request shows no other
  if (loading || card !== shownCard() || !current?.isConnected || current.matches(".ended")) return false;
  return current.dataset.id === card.dataset.id && current.dataset.digest === card.dataset.digest;
}

function fold(card) {
  const folded = all("pre.long:not(.open)", card).length > 0;
  const unseen = one("input[name=unseen]", card);
  const area = one("textarea[name=edited]", card);
  const edited = area !== null && area.value !== area.dataset.was;
  for (const button of all('[data-answer="approve"], [data-edit="approve"]', card)) {
    // After an edit the original call cannot be approved by mistake.
    const original = edited && Boolean(button.dataset.answer);
    button.disabled = folded || original || (unseen !== null && !unseen.checked);
    button.title = folded ? "Show the whole call first" : original ? "Approve the edited call, or undo the edit" : "";
  }
}

// HIGH takes one of the two words of the call, as in the terminal.
function isTyped(field) {
  const [typed, words] = [field.value.trim().toLowerCase(), field.dataset.words.toLowerCase()];
  return typed !== "" && (typed === words || words.split("-").includes(typed));
}

// The field for the word: of the edited call, of a part of the command, or of the call itself.
function typedWord(card, { edited, segment, tier }) {
  if (segment && tier !== "HIGH") return null;
  return one(`${edited ? ".checked" : segment ? ".segments" : ".answer"} input[name=word]`, card);
}

// What an approval still lacks: the field, and what to say about it.
function lacking(card, { edited, segment, tier }) {
  const reason = one("input[name=reason]", card);
  const word = typedWord(card, { edited, segment, tier });
  const needsReason = segment ? tier === "CRITICAL" : edited?.tier === "CRITICAL" || reason.dataset.needed;
  if (needsReason && !reason.value.trim()) return [reason, "Enter a reason first."];
  if (word && !isTyped(word)) return [word, `Type one of the two words first: ${word.dataset.words}.`];
  return undefined;
}

async function answer(card, choice, extra = {}) {
  if (!answerable(card) || performance.now() - shownAt < SETTLE_MS) return;
  const reason = extra.says ?? one("input[name=reason]", card).value.trim();
  const wrong = one(".wrong[role=alert]", card);
  const lack = choice === "approve" && lacking(card, extra);
  if (lack) {
    wrong.textContent = lack[1];
    lack[0].focus();
    return;
  }
  const body = { choice, reason, digest: card.dataset.digest };
  const word = typedWord(card, extra);
  if (choice === "approve" && word) body.word = word.value.trim();
  if (extra.shape) body.grant = { shape: extra.shape, scope: extra.scope, ...(extra.minutes && { minutes: Number(extra.minutes) }) };
  else if (extra.scope) body.scope = extra.scope;
  if (extra.segment) body.segments = [Number(extra.segment)];
  if (extra.edited) body.edited_digest = extra.edited.digest;
  const exact = extra.edited && { name: "edited_arguments", text: extra.edited.text };
  for (const button of all("button", card)) button.disabled = true;
  try {
    const decided = await decision(card.dataset.id, body, exact);
    if (!rows) location.reload();
    else if (decided.state === "pending") soon(card.dataset.id).then(refresh);
    else end(card.dataset.id, decided.state);
  } catch (error) {
    for (const button of all("button", card)) button.disabled = false;
    fold(card);
    wrong.textContent = error.message;
    // The person may be looking at another card by now.
    if (!card.isConnected) ask("The answer was not accepted", `${one(".words", card).textContent}: ${error.message}`);
  }
}

// ---- the edited call ---------------------------------------------------------------------------
// JSON with a line for each value, every digit and escape unchanged.
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

// The lines that were removed and added, in order.
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

const checkedEdits = new WeakMap(); // by card: the text that was assessed, its digest and its tier

function discardEdit(card) {
  checkedEdits.delete(card);
  one(".checked", card).replaceChildren();
  one(".difference", card).hidden = true;
  one('[data-edit="approve"]', card).hidden = true;
  fold(card);
}

async function edit(card, step) {
  const wrong = one(".wrong[role=alert]", card);
  wrong.textContent = "";
  if (step === "approve") {
    const edited = checkedEdits.get(card);
    if (edited?.text === one("textarea[name=edited]", card).value) await answer(card, "approve", { edited });
    return;
  }
  try { await checkEdit(card); } catch (error) { wrong.textContent = error.message; }
}

// The daemon assesses the edited call; only what was shown here can be approved.
async function checkEdit(card) {
  const area = one("textarea[name=edited]", card);
  const text = area.value;
  discardEdit(card);
  try { JSON.parse(text); } catch (error) { throw new Error(`The edited arguments are not valid JSON: ${error.message}`); }
  const changes = difference(area.dataset.was, text);
  const shown = one(".difference", card);
  shown.replaceChildren(...(changes.length ? changes : ["Nothing is different."]));
  shown.hidden = false;
  if (changes.length === 0) return;
  const { digest, tier, markup } = await send("POST", `/inbox/edit/${card.dataset.id}`, { digest: card.dataset.digest }, { name: "edited_arguments", text });
  if (!card.isConnected || area.value !== text) return;
  one(".checked", card).innerHTML = ours.createHTML(markup);
  checkedEdits.set(card, { text, digest, tier });
  one('[data-edit="approve"]', card).hidden = false;
  fold(card);
}

// ---- keys --------------------------------------------------------------------------------------
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (event.key === "j" || event.key === "k") { if (rows) move(event.key === "j" ? 1 : -1); }
  // The first press points at the button, the second one presses it; a held key presses nothing.
  else if (event.key === "a" || event.key === "d") { if (!event.repeat) press(event.key === "a" ? "approve" : "deny"); }
  else if (event.key === "?") ask("Keys", "j and k move, a points at Approve and a second a presses it, d the same for Deny, Esc leaves a field.");
  else return;
  event.preventDefault();
});

function press(kind) {
  const card = shownCard();
  const button = card && one(`.buttons [data-answer="${kind}"]`, card);
  if (!button || !answerable(card)) return;
  const word = one(".answer input[name=word]", card);
  if (document.activeElement === button) button.click();
  else if (kind === "approve" && word && !isTyped(word)) word.focus();
  else button.focus();
}

document.addEventListener("click", (event) => {
  const retry = event.target.closest("[data-retry]");
  if (retry) select(retry.dataset.retry);
});

for (const card of all("article.card")) fold(card);
if (rows) { count(); follow(); }
