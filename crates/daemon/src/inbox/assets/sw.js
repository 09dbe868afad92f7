// The service worker: shows notifications and opens the request. It caches nothing: every page and
// every answer comes from the daemon.
"use strict";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  let news = {};
  try { news = event.data.json(); } catch { /* shown without details */ }
  const asks = typeof news.request === "string";
  const options = {
    body: [news.body, news.phrase].filter(Boolean).join("\n"),
    tag: news.topic ?? "countersign",
    renotify: asks,
    silent: !asks,
    requireInteraction: asks && news.grave === true,
    icon: "/icon-192.png",
    badge: "/icon-192.png",
    data: { request: asks ? news.request : null },
    actions: asks ? [{ action: "deny", title: "Deny" }, { action: "open", title: "Open" }] : [],
  };
  event.waitUntil(self.registration.showNotification(news.title ?? "Countersign", options));
});

// Lets an open page deny the request. Returns whether it did.
async function denied(request) {
  const pages = await self.clients.matchAll({ type: "window" });
  for (const page of pages) {
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise((resolve) => {
      port1.onmessage = (event) => resolve(event.data?.done === true);
      setTimeout(() => resolve(false), 5000);
    });
    page.postMessage({ deny: request }, [port2]);
    if (await answer) return true;
  }
  return false;
}

async function open(request) {
  const place = request ? `/requests/${request}` : "/";
  const [page] = await self.clients.matchAll({ type: "window" });
  if (!page) return self.clients.openWindow(place);
  const moved = await page.navigate(place).catch(() => null);
  return (moved ?? page).focus();
}

self.addEventListener("notificationclick", (event) => {
  const { request } = event.notification.data ?? {};
  event.notification.close();
  event.waitUntil((async () => {
    // Approving is only possible on the page, where the call can be read.
    if (event.action === "deny" && request && await denied(request)) return;
    await open(request);
  })());
});
