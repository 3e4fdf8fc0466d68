// The real server behind the protocol library that VS Code uses: started as the extension starts it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const protocol = require("vscode-languageserver-protocol/node");
const { contributes } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url)));
const settings = contributes.configuration.properties;
const [command, ...args] = settings["indicial.command"].default;

const server = spawn(process.env.INDICIAL ?? command, args, { stdio: ["pipe", "pipe", "inherit"] });
const connection = protocol.createProtocolConnection(
  new protocol.StreamMessageReader(server.stdout),
  new protocol.StreamMessageWriter(server.stdin),
);
connection.listen();
const published = new Promise((told) =>
  connection.onNotification(protocol.PublishDiagnosticsNotification.type, told),
);

const { capabilities } = await connection.sendRequest(protocol.InitializeRequest.type, {
  processId: process.pid,
  rootUri: null,
  capabilities: {},
  initializationOptions: { notes: settings["indicial.notes"].default, claims: settings["indicial.claims"].default },
});
for (const can of ["hoverProvider", "definitionProvider", "renameProvider", "codeActionProvider", "inlayHintProvider"]) {
  assert.ok(capabilities[can], can);
}
await connection.sendNotification(protocol.InitializedNotification.type, {});
const uri = "untitled:Untitled-1";
const text = "input x[t,k]\nh[t,j] = W[j,K] x[t,K] + h[t-1]\n";
await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, {
  textDocument: { uri, languageId: contributes.languages[0].id, version: 1, text },
});
const { diagnostics } = await published;
assert.deepEqual(diagnostics.map((one) => [one.code, one.range.start.line]), [["index-count", 1]]);
const range = diagnostics[0].range;
const actions = await connection.sendRequest(protocol.CodeActionRequest.type, {
  textDocument: { uri },
  range,
  context: { diagnostics },
});
assert.equal(actions[0].edit.changes[uri][0].newText, "h[t-1, j]");
await connection.sendRequest(protocol.ShutdownRequest.type);
await connection.sendNotification(protocol.ExitNotification.type);
await new Promise((gone) => server.on("exit", gone));
console.log("1 passed, 0 failed");
