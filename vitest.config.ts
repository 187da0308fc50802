import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Child processes are what the tests spend their time on; more workers than cores only makes them wait.
    maxWorkers: 2,
    pool: "forks",
    reporters: ["default"],
  },
});
