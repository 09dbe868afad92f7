// The inbox: the list of pending requests and the one card that is shown. The list and the card name
// the same request at all times; while a card is on its way, no card is shown.
"use strict";

// A card that has just come up takes no answer: the finger was meant for another one.
const SETTLE_MS = 450;
// How long an ended request stays in sight; a drill explains itself and takes longer to read.
const [STAYS_MS, DRILL_STAYS_MS] = [5000, 30000];
const RETRY_MS = 1500;
// Above this many missing rows the whole list is read at once.
const ROWS_AT_ONCE = 12;
// The daemon lists no more than this many.
const LIST_LIMIT = 1000;

const rows = one("#rows");
const pane = one("#pane");
// A thousand may be pending: rows are known by id, one changes at a time, and nothing is measured.
const known = new Map(all(".row", rows ?? document.createElement("p")).map((row) => [row.dataset.id, row]));
const finished = new Set(); // requests that ended; an older answer of the daemon does not revive them
let current = rows && one(".row[aria-current]", rows);
let gone = 0; // rows that have ended and stay for five seconds
let turn = 0; // the newest read of a card; answers to older ones are dropped
let loading = ""; // the request whose card is on its way
let shownAt = performance.now();

const shownCard = () => one("#pane article");
const firstRow = () => one(".row:not(.ended)", rows);

// ---- time: a line that shrinks by itself -------------------------------------------------------
function run(within) {
  for (const left of all("[data-left]", within)) {
    const line = one(".line", left);
    const [rest, whole] = [Number(left.dataset.left), Number(left.dataset.whole)];
    if (line) line.style.animation = `shrink ${whole}ms linear ${rest - whole}ms both`;
  }
}

// ---- the list ----------------------------------------------------------------------------------
function count() {
  const pending = known.size - gone;
  one("#count").textContent = pending === 0 ? "Nothing pending" : `${pending} pending`;
  one("#deny-all").hidden = one("#review-all").hidden = pending === 0;
  document.title = (pending ? `(${pending}) ` : "") + "Inbox · Countersign";
  digestSoon();
}

// ---- digests: many questions of one session are one card; their rows are folded ----------------
const digests = one("#digests");
const unfolded = new Set(); // requests whose rows a person asked to see
let digesting = 0;
function digestSoon() {
  if (!digests) return;
  clearTimeout(digesting);
  digesting = setTimeout(async () => {
    try { digests.replaceChildren(await fetched("/inbox/digests")); } catch { return; }
    foldRows();
  }, 300);
}

function foldRows() {
  const folded = new Set(all("[data-folds]", digests).flatMap((card) => card.dataset.folds.split(" ")));
  for (const [id, row] of known) row.classList.toggle("folded", folded.has(id) && !unfolded.has(id));
}

digests?.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-digest]");
  if (!button) return;
  const ids = button.closest("[data-ids]").dataset.ids.split(" ");
  if (button.dataset.digest === "unfold") { for (const id of ids) unfolded.add(id); foldRows(); return; }
  button.disabled = true;
  const requests = ids.map((id) => ({ id }));
  try { await send("POST", "/v1/decisions", { choice: "deny", reason: "all questions of this session were denied at once", requests }); }
  catch (error) { ask("Not denied", error.message); }
  synchronise();
});

function before(a, b) {
  const [x, y] = [Number(a.dataset.rank), Number(b.dataset.rank)];
  return x !== y ? x > y : Number(a.dataset.deadline) < Number(b.dataset.deadline);
}

function drop(row) {
  if (known.get(row.dataset.id) !== row) return;
  known.delete(row.dataset.id);
  if (row.matches(".ended")) gone -= 1;
  if (row === current) current = null;
  row.remove();
}

function place(row) {
  // It may have ended while its row was on its way.
  if (row.matches(".ended") || finished.has(row.dataset.id)) return;
  const old = known.get(row.dataset.id);
  const selected = old !== undefined && old === current;
  if (old) drop(old);
  if (selected) { current = row; row.setAttribute("aria-current", "true"); }
  known.set(row.dataset.id, row);
  run(row);
  // While the pointer is on the list nothing in it moves: a new row goes to its end.
  const [still, top] = [rows.matches(":hover"), rows.scrollTop];
  let next = still ? null : rows.firstElementChild;
  while (next && !before(row, next)) next = next.nextElementSibling;
  rows.insertBefore(row, next);
  if (next && top > 0 && next.offsetTop < top) rows.scrollTop = top + row.offsetHeight;
}

function mark(id) {
  current?.removeAttribute("aria-current");
  current = known.get(id) ?? null;
  current?.setAttribute("aria-current", "true");
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
      if (ids.length > ROWS_AT_ONCE) await readAll();
      else (await Promise.all(ids.map((each) => fetched(`/inbox/row/${each}`)))).forEach((part) => place(part.firstElementChild));
    }
  } catch { setTimeout(synchronise, RETRY_MS); }
  fetching = false;
  count();
  agree();
}

async function readAll() {
  const older = new Set(known.keys());
  const fresh = await fetched("/inbox/rail");
  // Rows that came while the list was on its way may not be in it.
  const newer = [...known.values()].filter((row) => !older.has(row.dataset.id));
  const looked = current?.dataset.id;
  rows.replaceChildren(fresh);
  known.clear();
  gone = 0;
  for (const row of all(".row", rows)) { if (finished.has(row.dataset.id)) row.remove(); else known.set(row.dataset.id, row); }
  run(rows);
  for (const row of newer) if (!known.has(row.dataset.id)) place(row);
  mark(looked);
  count();
}

// Compares the list with what the daemon has pending: after a connection was lost, events are missing.
let [synchronising, again] = [false, false];
async function synchronise() {
  if (synchronising) { again = true; return; }
  synchronising = true;
  try {
    do {
      again = false;
      const older = [...known.keys()];
      const text = (await fetched("/inbox/ids")).textContent;
      const pending = new Set(text.split("\n").filter((id) => id && !finished.has(id)));
      const missing = [...pending].filter((id) => !known.has(id));
      if (pending.size < LIST_LIMIT) for (const id of older) if (!pending.has(id)) end(id, "no longer pending");
      if (missing.length > ROWS_AT_ONCE) await readAll();
      else (await Promise.all(missing.map((id) => fetched(`/inbox/row/${id}`)))).forEach((part) => place(part.firstElementChild));
    } while (again);
    say("live");
  } catch { setTimeout(synchronise, RETRY_MS); }
  synchronising = false;
  count();
  agree();
}

// ---- the one card that is shown ----------------------------------------------------------------
function message(kind, title, text, ...buttons) {
  const box = document.createElement("div");
  const [head, words] = [document.createElement("h1"), document.createElement("p")];
  box.className = kind;
  words.setAttribute("role", "status");
  [head.textContent, words.textContent] = [title, text];
  box.append(head, words, ...buttons);
  return box;
}

function inactive(label, kind) {
  const button = document.createElement("button");
  [button.type, button.className, button.textContent, button.disabled] = ["button", kind, label, true];
  return button;
}

function showNothing() {
  turn += 1;
  loading = "";
  mark(undefined);
  pane.removeAttribute("aria-busy");
  pane.replaceChildren(message("nothing", "Nothing is pending.", "A risky call of an agent appears here at once."));
  history.replaceState(null, "", "/");
}

function showLoading(id) {
  const what = known.get(id)?.querySelector(".what")?.textContent ?? "Request";
  const buttons = document.createElement("div");
  buttons.className = "buttons";
  buttons.append(inactive("Deny", "deny"), inactive("Approve once", "approve"));
  pane.setAttribute("aria-busy", "true");
  pane.replaceChildren(message("loading", what, "Loading the request…", buttons));
}

function showFailure(id, why) {
  const retry = document.createElement("button");
  [retry.type, retry.textContent, retry.dataset.retry] = ["button", "Try again", id];
  loading = "";
  pane.removeAttribute("aria-busy");
  pane.replaceChildren(message("loading", "The request could not be loaded.", `${why} Nothing was answered.`, retry));
}

function put(card, focus) {
  loading = "";
  pane.removeAttribute("aria-busy");
  pane.replaceChildren(card);
  shownAt = performance.now();
  run(card);
  fold(card);
  if (focus) one("h1", card).focus();
  if (card.dataset.state !== "pending") leaveSoon(card.dataset.id);
}

// Whether a card is the one of this request, and of the call that the list names. An ended request
// shows its original call again, and takes no answer.
function belongs(card, id) {
  const row = known.get(id);
  return card?.dataset.id === id && (!row || card.dataset.state !== "pending" || row.dataset.digest === card.dataset.digest);
}

async function select(id, focus) {
  if (!id) return;
  const mine = ++turn;
  loading = id;
  mark(id);
  showLoading(id);
  current?.scrollIntoView({ block: "nearest" });
  history.replaceState(null, "", `/?r=${id}`);
  let card;
  try {
    card = (await fetched(`/inbox/card/${id}`)).firstElementChild;
  } catch (error) {
    if (mine === turn) showFailure(id, ["TypeError", "TimeoutError"].includes(error.name) ? "The daemon did not answer." : `The daemon answered with error ${error.message}.`);
    return;
  }
  // A newer selection was made meanwhile: this card belongs to an older one.
  if (mine !== turn) return;
  if (!belongs(card, id)) { showFailure(id, "The daemon sent another request."); return; }
  put(card, focus);
  agree();
}

// Reads the shown card once more. The text that a person typed stays where nothing has changed.
async function refresh() {
  const card = shownCard();
  if (!card || loading) return;
  const [mine, id] = [++turn, card.dataset.id];
  let fresh;
  try { fresh = (await fetched(`/inbox/card/${id}`)).firstElementChild; } catch { return; }
  if (mine !== turn || shownCard() !== card || !belongs(fresh, id)) return;
  const same = ["digest", "state", "votes"].every((name) => fresh.dataset[name] === card.dataset[name]);
  if (!same) put(fresh);
  if (fresh.dataset.state === "pending" && !known.has(id)) soon(id);
}

// Brings the list and the card together: the row of the shown card is highlighted, or another card
// is shown.
function agree() {
  if (!rows) return;
  if (loading) { if (!current) mark(loading); return; }
  const card = shownCard();
  const id = card?.dataset.id;
  if (card && known.has(id)) {
    if (current !== known.get(id)) mark(id);
    const over = current.matches(".ended");
    // An edit takes the place of the call that is shown.
    const other = !over && current.dataset.digest !== card.dataset.digest;
    if (other || over === (card.dataset.state === "pending")) refresh();
  } else if (card && card.dataset.state === "pending") {
    mark(undefined);
    if (finished.has(id)) refresh(); else soon(id);
  } else if (!card) {
    const next = current ?? firstRow();
    if (next && !one("[data-retry]", pane)) select(next.dataset.id);
    else if (!next) showNothing();
  } else mark(undefined);
}

// An ended request stays in sight for a moment, then the next one is shown.
function leaveSoon(id) {
  setTimeout(() => {
    if (shownCard()?.dataset.id !== id || loading) return;
    const row = known.get(id);
    if (row) drop(row);
    const next = firstRow();
    if (next) select(next.dataset.id); else showNothing();
  }, one("#pane .drill") ? DRILL_STAYS_MS : STAYS_MS);
}

function end(id, state) {
  if (finished.size > 10 * LIST_LIMIT) finished.clear();
  finished.add(id);
  const row = known.get(id);
  if (row && !row.matches(".ended")) {
    row.classList.add("ended");
    gone += 1;
    one(".by", row).textContent = state;
    setTimeout(() => { if (row !== current) drop(row); }, STAYS_MS);
  }
  count();
  if (shownCard()?.dataset.id === id) refresh();
}

function move(by) {
  const list = all(".row:not(.ended)", rows);
  const at = list.indexOf(current);
  const next = list[Math.min(Math.max(at + by, 0), list.length - 1)];
  if (next) select(next.dataset.id, true);
}

function denyAll() {
  const pending = all(".row:not(.ended)", rows);
  const act = async () => {
    const requests = pending.map((row) => ({ id: row.dataset.id, digest: row.dataset.digest }));
    try {
      for (let at = 0; at < requests.length; at += 500) {
        const { results } = await send("POST", "/v1/decisions", { choice: "deny", reason: "everything was denied at once", requests: requests.slice(at, at + 500) });
        for (const { drill } of results) if (drill) ask("A drill", drill.words);
      }
    } catch (error) { say(error.message); }
    synchronise();
  };
  ask(`Deny all ${pending.length}?`, "Every pending request is denied, and the agents are told.", { label: "Deny all", act });
}

// ---- events of the daemon ----------------------------------------------------------------------
function follow() {
  const source = new EventSource("/v1/events");
  const hear = (name, act) => source.addEventListener(name, (event) => act(JSON.parse(event.data)));
  hear("asked", (request) => soon(request.id));
  hear("escalated", (request) => soon(request.id));
  for (const name of ["voted", "opinion"]) {
    hear(name, (request) => { if (shownCard()?.dataset.id === request.id) refresh(); });
  }
  hear("ended", (request) => end(request.id, request.state));
  hear("again", () => readAll().then(agree, () => setTimeout(synchronise, RETRY_MS)));
  // Events before the stream was open reached nobody: compare the list, and read the card again.
  source.addEventListener("open", () => { say("live"); synchronise().then(afterReconnect); });
  source.addEventListener("error", () => {
    say("not connected, trying again");
    // A browser gives up where something else answers in the daemon's place.
    if (source.readyState === EventSource.CLOSED) setTimeout(reconnect, RETRY_MS);
  });
}

function reconnect() {
  fetched("/inbox/ids").then(follow, () => setTimeout(reconnect, RETRY_MS));
}

function afterReconnect() {
  const failed = one("[data-retry]", pane)?.dataset.retry;
  if (failed) select(known.has(failed) ? failed : firstRow()?.dataset.id); else refresh();
}

run(document);
// On a phone the menu is wider than the screen.
one(".top nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
