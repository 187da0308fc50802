/**
 * A configuration that starts Switchyard with the same file, directly or through another Switchyard, would start
 * processes without end (field report E8). Each one tells its children which files are being served above them.
 */
import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { ConfigError } from "./errors.ts";

/** Part of the safe environment of every child (upstream/legs/environment.ts). */
const VARIABLE = "SWITCHYARD_CHAIN";

/** The environment for our children. Throws a ConfigError if this file is being served further up already. */
export function linkChain(file: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const above = (env[VARIABLE] ?? "").split(",").filter((id) => id !== "");
  const id = createHash("sha256").update(realpathSync(file)).digest("hex").slice(0, 16);
  if (above.includes(id)) {
    throw new ConfigError(
      `${file}: a parent of this process serves this file already (a loop): one of its entries starts Switchyard with the same ` +
        "file, which would go on without end. Remove that entry, or give it a file of its own.",
    );
  }
  return { ...env, [VARIABLE]: [...above, id].join(",") };
}
