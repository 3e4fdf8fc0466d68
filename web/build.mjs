// Bundles the page into the package: node build.mjs [OUT]; `--test` runs the tests instead.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = import.meta.dirname;
const shared = { bundle: true, target: "es2022", logLevel: "warning", absWorkingDir: here };

if (process.argv.includes("--test")) {
  const out = mkdtempSync(join(tmpdir(), "page-"));
  const tests = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...shared, entryPoints: tests.map((name) => join("test", name)), outdir: out,
    platform: "node", format: "esm", outExtension: { ".js": ".mjs" },
  });
  const files = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
  const done = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" });
  rmSync(out, { recursive: true });
  process.exit(done.status ?? 1);
}

const out = process.argv[2] ?? join(here, "../src/indicial/page/static");
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const { metafile } = await build({
  ...shared, metafile: true, entryPoints: ["src/main.ts"], outfile: join(out, "page.js"), minify: true,
  format: "iife", legalComments: "none", charset: "utf8",
});
await build({
  ...shared, entryPoints: ["src/page.css"], outfile: join(out, "page.css"), minify: true,
  legalComments: "none",
  // Every browser that runs this page reads woff2; of the other fonts nothing remains.
  plugins: [{
    name: "fonts",
    setup(building) {
      building.onLoad({ filter: /katex\.min\.css$/ }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replace(/,url\([^)]*\.(woff|ttf)\) format\("[a-z]+"\)/g, ""), loader: "css",
      }));
      building.onResolve({ filter: /\.woff2$/ }, (found) => {
        const file = found.path.replace(/^.*\//, "");
        copyFileSync(join(here, "node_modules/katex/dist/fonts", file), join(out, file));
        return { path: `/static/${file}`, external: true };
      });
    },
  }],
});
copyFileSync(join(here, "src/index.html"), join(out, "index.html"));

// The problem sheets that the page leads to.
for (const sheet of ["copying", "temperature", "argmax", "positions"]) {
  copyFileSync(join(here, `../docs/problems/${sheet}.md`), join(out, `${sheet}.md`));
}

// What is in the bundle is free to use if its notices come along.
const packages = new Set(Object.keys(metafile.inputs).map((file) => /^node_modules\/((@[^/]+\/)?[^/]+)/.exec(file)?.[1]).filter(Boolean));
const notices = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), notices.join("\n\n"));
