/** A process of its own that writes an audit file as fast as it can, and says the last number that is in the file. */
import { silentLog } from "../../src/log.ts";
import { openAudit } from "../../src/pipeline/audit/sink.ts";
import { auditConfig } from "./support.ts";

const sink = openAudit(auditConfig(process.argv[2]!), silentLog);
let written = 0;
for (;;) {
  const group = Array.from({ length: 16 }, (_, i) =>
    sink.append({ time: new Date().toISOString(), rest: `"n":${written + i},"x":"${"y".repeat(400)}"` }),
  );
  await Promise.all(group);
  written += group.length;
  process.stdout.write(`${written}\n`);
}
