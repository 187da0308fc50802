#!/usr/bin/env node
import { existsSync } from "node:fs";

const main = new URL("../dist/cli/main.js", import.meta.url);
if (existsSync(main)) {
  process.exitCode = await (await import(main.href)).main(process.argv.slice(2));
} else {
  process.stderr.write("switchyard: this checkout is not built yet. Run `npm ci && npm run build` in it first.\n");
  process.exitCode = 2;
}
