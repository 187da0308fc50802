/** `switchyard schema`: the file's shape as JSON Schema 2020-12, for editors. Imports zod: load it with `await import()`. */
import * as z from "zod";
import { entrySchema } from "./schema.ts";
import { fileSchema } from "./schema-top.ts";

export function jsonSchema(): object {
  const schema = z.toJSONSchema(fileSchema, {
    io: "input",
    target: "draft-2020-12",
    override({ zodSchema, jsonSchema: part }) {
      // What the loader says in words: either a program or an address.
      if ((zodSchema as unknown) === entrySchema) part.oneOf = [{ required: ["command"] }, { required: ["url"] }];
      // zod writes the bounds of a safe integer; they say nothing to a person.
      if (part.maximum === Number.MAX_SAFE_INTEGER) delete part.maximum;
    },
  });
  return { ...schema, title: "Switchyard configuration" };
}
