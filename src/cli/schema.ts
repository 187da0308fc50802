/** `schema`: the JSON Schema of the configuration file, for editors. */
import type { Command } from "commander";
import type { Run } from "./shell.ts";

export function addSchema(program: Command, run: Run): void {
  program
    .command("schema")
    .description("print the JSON Schema of the configuration file")
    .addHelpText(
      "after",
      '\nExample:\n  switchyard schema > switchyard.schema.json   (then "$schema": "./switchyard.schema.json")',
    )
    .action(() =>
      run(async (shell) => {
        const { jsonSchema } = await import("../config/json-schema.ts");
        await shell.json(jsonSchema());
        return 0;
      }),
    );
}
