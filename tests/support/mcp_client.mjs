// The SDK's client against one server: node mcp_client.mjs FOLDER KIND URL|COMMAND...
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, kind, ...where] = process.argv.slice(2);
const find = createRequire(folder + "/x.js");
const load = (name) => import(pathToFileURL(find.resolve("@modelcontextprotocol/sdk/" + name)));
const { Client } = await load("client/index.js");

async function connect() {
  if (kind === "stdio") {
    const { StdioClientTransport } = await load("client/stdio.js");
    return new StdioClientTransport({ command: where[0], args: where.slice(1), env: process.env });
  }
  const file = kind === "sse" ? "client/sse.js" : "client/streamableHttp.js";
  const t = await load(file);
  const Transport = kind === "sse" ? t.SSEClientTransport : t.StreamableHTTPClientTransport;
  return new Transport(new URL(where[0]));
}

const types = await load("types.js");
const client = new Client({ name: "test", version: "1" },
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } });
client.setRequestHandler(types.CreateMessageRequestSchema, ({ params }) => ({
  role: "assistant", model: "none", content: { type: "text", text: "sampled " + params.maxTokens },
}));
client.setRequestHandler(types.ElicitRequestSchema, () => ({
  action: "accept", content: { name: "elicited" },
}));
client.setRequestHandler(types.ListRootsRequestSchema, () => ({
  roots: [{ uri: "file:///rooted", name: "rooted" }],
}));
await client.connect(await connect());
// Each line of standard input is ["callTool", ARGUMENTS...]; each line out what came of it.
const lines = (await import("node:readline")).createInterface({ input: process.stdin });
for await (const line of lines) {
  const [what, ...args] = JSON.parse(line);
  const progress = [];
  const options = { onprogress: (p) => progress.push(p.progress), timeout: 20000 };
  let out;
  try {
    out = { result: await client[what](args[0], ...(what === "callTool" ? [undefined] : []), options) };
  } catch (e) {
    out = { error: String(e.message) };
  }
  console.log(JSON.stringify({ ...out, progress }));
}
await client.close();
