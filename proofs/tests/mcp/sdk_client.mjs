// Clients of the official TypeScript SDKs: do everything they can, print what came back.
// sdk_client.mjs ERA stdio COMMAND… | sdk_client.mjs ERA http URL; ERA is v1, v2 or auto.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const here = createRequire(process.env.TOOLS + "/package.json");
const load = (name) => import(pathToFileURL(here.resolve(name)).href);
const [era, how, ...rest] = process.argv.slice(2);

let Client, Stdio, Http;
if (era === "v1") {
  ({ Client } = await load("@modelcontextprotocol/sdk/client/index.js"));
  ({ StdioClientTransport: Stdio } = await load("@modelcontextprotocol/sdk/client/stdio.js"));
  ({ StreamableHTTPClientTransport: Http } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js"));
} else {
  ({ Client, StreamableHTTPClientTransport: Http } = await load("@modelcontextprotocol/client"));
  ({ StdioClientTransport: Stdio } = await load("@modelcontextprotocol/client/stdio"));
}
const options = era === "auto" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "proof", version: "1" }, { capabilities: {}, ...options });
const transport =
  how === "stdio"
    ? new Stdio({ command: rest[0], args: rest.slice(1), env: process.env, stderr: "ignore" })
    : new Http(new URL(rest[0]));
await client.connect(transport);

const said = {};
const attempt = async (name, what) => {
  try {
    said[name] = await what();
  } catch (error) {
    said[name] = `${error.name}: ${error.message}`.slice(0, 200);
  }
};
await attempt("tools", () => client.listTools());
await attempt("resources", () => client.listResources());
await attempt("prompts", () => client.listPrompts());
const call = (name, args) => client.callTool({ name, arguments: args });
for (const [name, args] of [
  ["echo", { message: "hi" }],
  ["get-sum", { a: 2, b: 3 }],
  ["get-tiny-image", {}],
  ["get-structured-content", { location: "Chicago" }],
  ["get-annotated-message", { messageType: "error", includeImage: true }],
  ["get-resource-links", { count: 3 }],
  ["trigger-long-running-operation", { duration: 0.2, steps: 2 }],
  ["no_such_tool", {}],
  ["read_note", { name: "a" }],
  ["add", { a: 2, b: 3 }],
  ["send_message", { to: "bo", text: "hi" }],
  ["fails", {}],
]) {
  await attempt(`call ${name}`, () => call(name, args));
}
const many = Array.from({ length: 10 }, (_, n) => call("echo", { message: `number ${n}` }));
await attempt("many", () => Promise.all(many));
console.log(JSON.stringify(said));
await client.close();
