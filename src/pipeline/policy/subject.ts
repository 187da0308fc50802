/** What conditions read of one item or question: each variable is made when the first of them asks for it. */
import type { PolicyItem } from "../../exchange.ts";
import type { Value } from "./cel.ts";
import { callerValue, itemValue } from "./cel-values.ts";
import type { Bindings } from "./condition.ts";
import type { PolicyCaller } from "./policy.ts";

export class Subject implements Bindings {
  readonly server: string;
  readonly #caller: PolicyCaller;
  readonly #item: PolicyItem | undefined;
  #value: Value | undefined;
  #client: Value | undefined;
  /** Of a call that is being judged. */
  args: Value | undefined;

  constructor(server: string, caller: PolicyCaller, item: PolicyItem | undefined) {
    this.server = server;
    this.#caller = caller;
    this.#item = item;
  }

  get client(): Value {
    this.#client ??= callerValue(this.#caller);
    return this.#client;
  }

  /** Empty for whoever did not authenticate. */
  get principal(): string {
    return this.#caller.principal ?? "";
  }

  get tool(): Value | undefined {
    return this.#of("tool");
  }

  get prompt(): Value | undefined {
    return this.#of("prompt");
  }

  get resource(): Value | undefined {
    return this.#of("resource");
  }

  #of(kind: PolicyItem["kind"]): Value | undefined {
    if (this.#item?.kind !== kind) return undefined;
    this.#value ??= itemValue(this.#item, this.#item.definition?.() ?? {});
    return this.#value;
  }
}
