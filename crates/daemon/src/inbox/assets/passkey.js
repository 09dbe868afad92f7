// Passkeys: added on the page Devices, and used where an answer needs one.
"use strict";

const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const toText = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const credentials = (ids) => ids.map((id) => ({ type: "public-key", id: toBytes(id) }));
const PATIENCE_MS = 120_000;

// The browser's own error names mean nothing to people.
async function asked(ceremony, otherwise) {
  if (!window.PublicKeyCredential) throw new Error("This browser does not support passkeys at this address. Use https or localhost.");
  try {
    return await ceremony();
  } catch (error) {
    if (error.name === "NotAllowedError") throw new Error(otherwise);
    if (error.name === "InvalidStateError") throw new Error("This device already has a passkey here.");
    throw error;
  }
}

async function signature(id, body, exact) {
  return signed(await send("POST", `/v1/requests/${id}/challenge`, body, exact), "The passkey was not used, so nothing was approved. Try again.");
}

async function signed({ challenge, rp_id: rpId, known: ids }, otherwise) {
  const publicKey = { challenge: toBytes(challenge), rpId, allowCredentials: credentials(ids), userVerification: "required", timeout: PATIENCE_MS };
  const { rawId, response } = await asked(() => navigator.credentials.get({ publicKey }), otherwise);
  return { id: toText(rawId), client_data: toText(response.clientDataJSON), authenticator_data: toText(response.authenticatorData), signature: toText(response.signature) };
}

// Sends a change of people, rights or settings with a proof of the person.
async function sendConfirmed(method, path, body) {
  return send(method, path, body, undefined, await confirmation(method, path, body && JSON.stringify(body)));
}

// The proof of one change: a passkey's signature over it, or the passphrase.
async function confirmation(method, path, text) {
  const begun = await send("POST", "/v1/step-up", { method, path }, text && { name: "body", text });
  if (begun.proof !== "passkey") return `passphrase ${toText(new TextEncoder().encode(await passphrase()))}`;
  const proof = await signed(begun, "The passkey was not used, so nothing was changed. Try again.");
  return `passkey ${toText(new TextEncoder().encode(JSON.stringify(proof)))}`;
}

function passphrase() {
  return new Promise((resolve, reject) => {
    const [form, label, field] = ["form", "label", "input"].map((name) => document.createElement(name));
    [form.id, field.type, field.name, field.required, field.maxLength, field.autocomplete] = ["confirm", "password", "passphrase", true, 1024, "current-password"];
    let given = false;
    const confirm = () => {
      given = true;
      resolve(field.value);
    };
    const box = ask("Confirm this change", "This change needs your passphrase, because a session can be stolen.", { label: "Confirm", act: confirm }, () => { if (!given) reject(new Error("Nothing was changed.")); });
    label.append("Your passphrase", field);
    form.append(label);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      confirm();
      box.close();
    });
    box.insertBefore(form, box.lastElementChild);
    field.focus();
  });
}

// Sends an answer, signed if it needs a passkey.
async function decision(id, body, exact) {
  const path = `/v1/requests/${id}/decision`;
  // Every grant beyond exactly this call in its session needs a proof.
  const { grant } = body;
  if (grant && !(grant.shape === "exact" && grant.scope === "session")) return sendConfirmed("POST", path, body);
  try {
    return await send("POST", path, body, exact);
  } catch (error) {
    if (error.type !== "urn:countersign:problem:passkey") throw error;
  }
  return send("POST", path, { ...body, passkey: await signature(id, body, exact) }, exact);
}

async function addPasskey(form) {
  const begun = await send("POST", "/v1/passkeys/begin", {});
  const publicKey = {
    challenge: toBytes(begun.challenge),
    rp: { id: begun.rp_id, name: "Countersign" },
    user: { id: toBytes(begun.user), name: begun.person, displayName: begun.person },
    pubKeyCredParams: begun.algorithms.map((alg) => ({ type: "public-key", alg })),
    excludeCredentials: credentials(begun.known),
    authenticatorSelection: { userVerification: "required", residentKey: "preferred" },
    attestation: "none",
    timeout: PATIENCE_MS,
  };
  const { response } = await asked(() => navigator.credentials.create({ publicKey }), "The passkey was not created. Try again.");
  await sendConfirmed("POST", "/v1/passkeys", {
    name: form.elements.name.value.trim(),
    client_data: toText(response.clientDataJSON),
    attestation: toText(response.attestationObject),
  });
  location.reload();
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "add-passkey") return;
  event.preventDefault();
  const wrong = one(".wrong", event.target);
  wrong.textContent = "";
  addPasskey(event.target).catch((error) => { wrong.textContent = error.message; });
});
