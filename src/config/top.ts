/** The part of the file that is no server, checked and completed. Any mistake in it stops the start. */

import { resolve } from "node:path";
import { isObject } from "../wire/objects.ts";
import { auditKeyProblem, auditKeyWarning } from "./audit-key.ts";
import {
  defaultCheckpointEvery,
  defaultMaxResultBytes,
  defaultNames,
  defaultPage,
  defaultPin,
  defaultTimeouts,
  minNameBudget,
} from "./defaults.ts";
import { expandAll } from "./expand.ts";
import { expandHome } from "./find.ts";
import { globMatcher } from "./glob.ts";
import type { Problem } from "./problem.ts";
import type { Source } from "./source.ts";
import type { Config, PinMode, PolicyConfig } from "./types.ts";

export type Top = Omit<Config, "file" | "servers" | "disabled" | "broken" | "warnings"> & {
  readonly warnings: readonly Problem[];
  /** What entries inherit. */
  readonly maxResultBytes: number;
  readonly pin: PinMode;
};

export async function loadTop(
  source: Source,
  { folder, env, platform }: { folder: string; env: NodeJS.ProcessEnv; platform: NodeJS.Platform },
): Promise<Top | { problems: readonly Problem[] }> {
  const { value } = source;
  if (!isObject(value)) {
    return { problems: [{ path: [], reason: "is not an object", remedy: 'Write { "mcpServers": { … } }.' }] };
  }
  const { mcpServers, ...others } = value;
  const expansion = expandAll(others, env, []);
  const [{ check }, { topSchema }] = await Promise.all([import("./issues.ts"), import("./schema-top.ts")]);
  const checked = check(topSchema, expansion.value, []);
  const problems = source.problems.filter(({ path }) => path[0] !== "mcpServers" || path.length <= 2);
  problems.push(...expansion.problems);
  if ("problems" in checked) problems.push(...checked.problems);
  if (mcpServers === undefined) {
    // Where a host's other word for it stands, that one is the mistake, and said already.
    if (!("servers" in value) && !("mcp" in value) && !("mcp.servers" in value)) {
      problems.push({ path: ["mcpServers"], reason: "the key is missing", remedy: 'Add "mcpServers": { … }.' });
    }
  } else if (!isObject(mcpServers)) {
    const remedy = 'Write "mcpServers": { "<name>": { … } }.';
    problems.push({ path: ["mcpServers"], reason: "must be an object", remedy });
  }
  if ("problems" in checked) return { problems };

  const top = checked.data;
  const names = { ...defaultNames, ...top.names };
  const budget = names.maxLength - names.hostPrefix;
  if (budget < minNameBudget) {
    const reason = `maxLength less hostPrefix leaves ${budget} characters for a name, and ${minNameBudget} are needed`;
    problems.push({ path: ["names"], reason, remedy: "Raise maxLength or lower hostPrefix." });
  }
  const rules = top.policy?.rules ?? [];
  if (rules.some(({ when }) => when !== undefined)) {
    problems.push(...(await import("./conditions.ts")).conditionProblems(rules));
  }
  if (problems.length > 0) return { problems };

  const warnings: Problem[] = [];
  if (top.http !== undefined) {
    const remedy = "It can stay: serve --http is not supported by this version yet.";
    warnings.push({ path: ["http"], reason: "has no effect in this version", remedy });
  }
  if (Object.keys(mcpServers as object).length === 0) {
    warnings.push({ path: ["mcpServers"], reason: "holds no server", remedy: "Add one." });
  }
  const { audit } = top;
  const keyFile =
    audit?.signingKeyFile === undefined ? undefined : resolve(folder, expandHome(audit.signingKeyFile, env, platform));
  const keyProblem = auditKeyProblem(keyFile, audit?.checkpointEvery);
  if (keyProblem !== undefined) return { problems: [keyProblem] };
  const keyWarning = auditKeyWarning(keyFile);
  if (keyWarning !== undefined) warnings.push(keyWarning);
  return {
    timeouts: { ...defaultTimeouts, ...top.timeouts },
    names,
    page: { ...defaultPage, ...top.page },
    policy: { default: top.policy?.default ?? "allow", rules },
    audit: audit && {
      file: resolve(folder, expandHome(audit.file, env, platform)),
      payloads: audit.payloads ?? "redacted",
      durability: audit.durability ?? "write",
      onFailure: audit.onFailure ?? "deny",
      rotateBytes: audit.rotateBytes,
      checkpoints:
        keyFile === undefined ? undefined : { every: audit.checkpointEvery ?? defaultCheckpointEvery, keyFile },
      redactKeys: audit.redactKeys ?? [],
    },
    roots: top.roots,
    maxMessageBytes: top.maxMessageBytes ?? 0,
    maxResultBytes: top.maxResultBytes ?? defaultMaxResultBytes,
    pin: top.pin ?? defaultPin,
    secrets: expansion.secrets.filter((text) => text !== ""),
    warnings,
  };
}

/** Rules that speak of servers that are not in the file: a mistyped name would leave a door open, or shut. */
export function policyWarnings(policy: PolicyConfig, servers: readonly { readonly name: string }[]): Problem[] {
  return policy.rules.flatMap((rule, index) =>
    (rule.servers ?? []).flatMap((glob, position) => {
      const matches = globMatcher(glob);
      if (servers.some(({ name }) => matches(name))) return [];
      const path = ["policy", "rules", index, "servers", position];
      return [{ path, reason: "matches no entry of mcpServers", remedy: "Check the spelling." }];
    }),
  );
}
