// Starts `indicial lsp` and connects the editor with it; all that is shown comes from there.
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

function made() {
  const settings = vscode.workspace.getConfiguration("indicial");
  const [command, ...args] = settings.get("command");
  const selector = settings
    .get("languages")
    .flatMap((language) => ["file", "untitled"].map((scheme) => ({ scheme, language })));
  return new LanguageClient(
    "indicial",
    "Indicial",
    { command, args, transport: TransportKind.stdio },
    {
      documentSelector: selector,
      initializationOptions: { notes: settings.get("notes"), claims: settings.get("claims") },
    },
  );
}

async function start() {
  client = made();
  try {
    await client.start();
  } catch (error) {
    const open = "Open settings";
    const chosen = await vscode.window.showErrorMessage(
      `Indicial does not start: ${error.message}. Install it with \`pip install "indicial[editor]"\`, ` +
        "or say in `indicial.command` where it is.",
      open,
    );
    if (chosen === open) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "indicial.command");
    }
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running?.needsStop()) await running.stop();
}

async function restart() {
  await stop();
  await start();
}

exports.activate = async (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("indicial.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("indicial")) return restart();
    }),
  );
  await start();
};

exports.deactivate = stop;
