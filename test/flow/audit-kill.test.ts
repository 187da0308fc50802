/** Promise: whatever was answered has its record, also when the process is killed at any moment. */
import { expect, test } from "vitest";
import { killRounds } from "../proofs/kill.ts";

test("kill -9 at random moments under load: every answered call has its record, none is doubled, the chain verifies", async () => {
  // J6. More of them: npx tsx test/proofs/kill.ts 200
  const report = await killRounds(12, Date.now() % 1_000_000);
  expect(report.answered).toBeGreaterThan(0);
  expect(report.records).toBeGreaterThanOrEqual(report.answered);
}, 120_000);
