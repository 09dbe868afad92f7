// Notifications: subscribes this browser; its worker shows the messages.
"use strict";

const worker = "serviceWorker" in navigator
  ? navigator.serviceWorker.register(ours.createScriptURL ? ours.createScriptURL("/sw.js") : "/sw.js").catch(() => null)
  : Promise.resolve(null);

function browserName() {
  const agent = navigator.userAgent;
  const find = (names) => names.find(([mark]) => agent.includes(mark))?.[1];
  const program = find([["Firefox", "Firefox"], ["Edg", "Edge"], ["Chrom", "Chrome"], ["Safari", "Safari"]]) ?? "A browser";
  const machine = find([["Android", "Android"], ["iPhone", "an iPhone"], ["iPad", "an iPad"], ["Mac", "a Mac"], ["Windows", "Windows"], ["Linux", "Linux"]]);
  return machine ? `${program} on ${machine}` : program;
}

async function addBrowser(form) {
  const registration = await worker;
  if (!registration?.pushManager) throw new Error("This browser does not support notifications here. On a phone, add the page to the home screen first.");
  if (await Notification.requestPermission() !== "granted") throw new Error("Notifications are blocked. Allow them for this page in the browser, then try again.");
  const key = toBytes(form.dataset.key);
  const ready = await navigator.serviceWorker.ready;
  const made = await ready.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const { endpoint, keys } = made.toJSON();
  await sendConfirmed("POST", "/v1/push", { endpoint, p256dh: keys.p256dh, auth: keys.auth, called: browserName() });
  location.reload();
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "add-browser") return;
  event.preventDefault();
  const wrong = one(".wrong", event.target);
  wrong.textContent = "";
  addBrowser(event.target).catch((error) => { wrong.textContent = error.message; });
});

// The worker asks an open page to deny, because only a page has the session's proof. It never asks
// for an approval, and no message that it could send here is one.
navigator.serviceWorker?.addEventListener("message", (event) => {
  const { deny } = event.data ?? {};
  const [port] = event.ports;
  if (typeof deny !== "string" || !/^[0-9a-hjkmnp-tv-z]{26}$/.test(deny) || !port) return;
  send("POST", `/v1/requests/${deny}/decision`, { choice: "deny", reason: "denied from the notification" })
    .then(() => port.postMessage({ done: true }), () => port.postMessage({ done: false }));
});
