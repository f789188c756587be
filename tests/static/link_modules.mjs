// Parses the modules named on the command line and links their imports, without running any of them.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { SourceTextModule } from "node:vm";

const known = new Map();

function load(path) {
  if (!known.has(path)) known.set(path, new SourceTextModule(readFileSync(path, "utf-8"), { identifier: path }));
  return known.get(path);
}

for (const path of process.argv.slice(2)) {
  const module = load(path);
  if (module.status === "unlinked") await module.link((specifier, from) => load(resolve(dirname(from.identifier), specifier)));
}
