// Pages other than the inbox. Uses one, all, ask and send of inbox.js.
"use strict";

// On a phone the menu is longer than the screen.
one(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// ---- review together --------------------------------------------------------------------------
const review = one("#review");
const items = () => all("article.item:not(.over)", review);
const chosen = () => items().filter((item) => one("input[name=chosen]", item).checked);

// What is still missing before a call can be approved; empty if nothing is.
function unseen(item) {
  if (!item.dataset.whole) return "be answered alone";
  if (all("details.opened", item).some((part) => !part.dataset.seen)) return "be opened";
  if (all("pre.long:not(.open)", item).length > 0) return "be shown completely";
  if (all("input[name=word]", item).some((field) => !isTyped(field))) return "have one of the two words typed";
  return "";
}

function tally() {
  const [list, still] = [chosen(), chosen().filter(unseen)];
  const told = one("#chosen");
  told.textContent = list.length === 0 ? "None selected." : `${list.length} of ${items().length} selected.`;
  if (still.length > 0) told.textContent += ` ${still.length} must ${unseen(still[0])} before you approve.`;
  const [deny, approve] = ["deny", "approve"].map((kind) => one(`[data-together=${kind}]`));
  deny.disabled = list.length === 0;
  approve.disabled = list.length === 0 || still.length > 0;
  deny.textContent = list.length ? `Deny ${list.length}` : "Deny";
  approve.textContent = list.length ? `Approve ${list.length}` : "Approve";
  one("#choose").textContent = items().length > 0 && list.length === items().length ? "Select none" : "Select all";
}

function settle(item, words) {
  if (item.matches(".over")) return;
  item.classList.add("over");
  one(".result", item).textContent = words;
  const box = one("input[name=chosen]", item);
  [box.checked, box.disabled] = [false, true];
}

async function together(choice) {
  const list = chosen();
  const wrong = one("#together .wrong");
  wrong.textContent = "";
  for (const button of all("#together button")) button.disabled = true;
  try {
    for (const item of list) item.dataset.mine = "yes";
    const word = (item) => one("input[name=word]", item)?.value.trim();
    const requests = list.map((item) => ({ id: item.dataset.id, digest: item.dataset.digest, ...(word(item) && { word: word(item) }) }));
    const reason = one("#together [name=reason]").value.trim();
    const { results } = await send("POST", "/v1/decisions", { choice, reason, requests });
    for (const { id, state, problem, drill } of results) {
      const item = list.find((each) => each.dataset.id === id);
      if (state && state !== "pending") settle(item, drill?.words ?? `${state} by you`);
      else one(".result", item).textContent = problem?.detail ?? "More people must answer this.";
    }
  } catch (error) { wrong.textContent = error.message; }
  for (const button of all("#together button")) button.disabled = false;
  tally();
}

if (review && one("#together")) {
  review.addEventListener("change", tally);
  review.addEventListener("input", tally);
  review.addEventListener("toggle", (event) => {
    if (event.target.matches("details.opened") && event.target.open) event.target.dataset.seen = "yes";
    tally();
  }, true);
  review.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.id === "choose") {
      const every = chosen().length === items().length;
      for (const item of items()) one("input[name=chosen]", item).checked = !every;
    }
    if (button?.dataset.together) {
      const [choice, list] = [button.dataset.together, chosen()];
      const tiers = [...new Set(list.map((item) => item.dataset.tier))].map((tier) => `${list.filter((item) => item.dataset.tier === tier).length} ${tier}`);
      const words = `${tiers.join(", ")}. Each is a separate decision, for the call shown here.`;
      ask(`${button.textContent}?`, words, { label: button.textContent, act: () => together(choice) });
    }
    // The other script opens the folded text after this handler.
    setTimeout(tally, 0);
  });
  one("#together").addEventListener("submit", (event) => event.preventDefault());
  let more = 0;
  const source = new EventSource("/v1/events");
  source.addEventListener("asked", () => {
    more += 1;
    const fresh = one(".fresh");
    fresh.hidden = false;
    fresh.textContent = `${more} new ${more === 1 ? "request" : "requests"}. Reload the page to see ${more === 1 ? "it" : "them"}.`;
  });
  const has = (id, state) => {
    const item = one(`article.item[data-id="${id}"]`);
    if (item && state !== "pending") settle(item, item.dataset.mine ? `${state} by you` : `${state} meanwhile`);
    tally();
  };
  source.addEventListener("ended", (event) => {
    const { id, state } = JSON.parse(event.data);
    has(id, state);
  });
  // Events before the stream was open, or while it was closed, are not repeated.
  source.addEventListener("open", async () => {
    for (const item of items()) {
      const found = await send("GET", `/v1/requests/${item.dataset.id}`).catch(() => undefined);
      if (found) has(found.id, found.state);
    }
  });
  tally();
}

// ---- calibration: the same sentence as the server's -----------------------
const calibrate = one("#calibrate");
const two = (hundredths) => (hundredths / 100).toFixed(2);
const many = (number) => number.toLocaleString("en");

function passes(bucket, low, medium) {
  if (bucket.crisis) return false;
  if (bucket.tier === "SAFE") return true;
  if (bucket.tier === "LOW") return Math.round(bucket.confidence * 100) >= low;
  return bucket.tier === "MEDIUM" && Math.round(bucket.points * 100) < medium;
}

function sentence(buckets, low, medium) {
  let [fewer, denied] = [0, 0];
  for (const bucket of buckets.filter((each) => passes(each, low, medium))) {
    fewer += bucket.approved + bucket.denied + bucket.expired;
    denied += bucket.denied;
  }
  if (fewer === 0) return "With these thresholds no question would have been avoided.";
  const times = fewer === 1 ? "1 question" : `${many(fewer)} questions`;
  const calls = denied === 0 ? "no denied call would have passed" : denied === 1 ? "1 denied call would have passed" : `${many(denied)} denied calls would have passed`;
  return `With these thresholds ${times} would have been avoided; ${calls}.`;
}

function configured(low, medium) {
  const lines = [];
  if (low !== Number(calibrate.dataset.low)) lines.push(`low_confidence = ${two(low)}`);
  if (medium !== Number(calibrate.dataset.medium)) for (const platform of ["api", "telegram", "discord", "cli"]) lines.push(`${platform}_threshold = ${two(medium)}`);
  return lines.length ? ["[assessment]", ...lines, ""].join("\n") : "# unchanged";
}

if (calibrate) {
  let buckets;
  const shown = () => {
    const [low, medium] = [calibrate.elements.low, calibrate.elements.medium].map((field) => Number(field.value));
    [calibrate.elements.lowshown.value, calibrate.elements.mediumshown.value] = [two(low), two(medium)];
    const { start, wide } = one("#scores").dataset;
    const place = (Number(start) + Number(wide) * medium / 410).toFixed(1);
    for (const end of ["x1", "x2"]) one("#threshold").setAttribute(end, place);
    one("#lines").textContent = configured(low, medium);
    if (buckets) one("#sentence").textContent = sentence(buckets, low, medium);
  };
  calibrate.addEventListener("input", shown);
  calibrate.addEventListener("submit", (event) => event.preventDefault());
  fetch("/v1/calibration", { credentials: "same-origin" }).then((response) => response.json()).then((answer) => { buckets = answer.buckets; shown(); }).catch(() => {});
}
