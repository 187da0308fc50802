/**
 * Introduces the pins to the rest: lists and instructions go in, what is refused comes out, and every deviation becomes
 * one line of the audit file, whether anybody ever names the item or not.
 */
import type { ServerConfig } from "./config/types.ts";
import type { Decision, PolicyItem } from "./exchange.ts";
import type { Log } from "./log.ts";
import { INSTRUCTIONS, KIND_OF, type PinnedList } from "./pipeline/pins/book.ts";
import { type Deviation, Pins, type Source } from "./pipeline/pins/pins.ts";
import { plainSpellings } from "./pipeline/policy/spelling.ts";
import type { ListMethod } from "./router/catalogue.ts";
import type { RawItem } from "./router/items.ts";
import { compileTemplate } from "./router/template.ts";

export interface PinningOptions {
  /** Path of the configuration file. */
  readonly file: string;
  readonly servers: readonly Pick<ServerConfig, "name" | "pin">[];
  /** Whether what is seen for the first time is pinned. */
  readonly learns: boolean;
  readonly log: Log;
  /** Whether the server lists that very URI. */
  listsUri(server: string, uri: string): boolean;
  /** Writes a line into the audit file that is no request's. */
  record(fields: object): void;
  /** Other items are visible than before. */
  changed(): void;
}

/** Resources are not pinned one by one: there may be a million, and a definition of one says little. */
export const PINNED: Readonly<Partial<Record<ListMethod, PinnedList>>> = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/templates/list": "templates",
};
const LIST_OF = { tool: "tools", prompt: "prompts", resource: "templates" } as const;

/** Beside the configuration. */
export function pinFileOf(configFile: string): string {
  return `${configFile}.pins.json`;
}

export class Pinning {
  readonly #options: PinningOptions;
  readonly #pins: Pins;

  constructor(options: PinningOptions) {
    this.#options = options;
    this.#pins = new Pins({
      file: pinFileOf(options.file),
      modes: new Map(options.servers.map(({ name, pin }) => [name, pin])),
      learns: options.learns,
      log: options.log,
      found: (deviation) => this.#record(deviation),
      changed: () => options.changed(),
    });
  }

  /** Whether any server is to be judged by pins. */
  get active(): boolean {
    return this.#pins.active;
  }

  enforces(server: string): boolean {
    return this.#pins.enforces(server);
  }

  /** A list came in. */
  listed(server: string, method: ListMethod, items: readonly RawItem[], source: Source): void {
    const list = PINNED[method];
    if (list !== undefined) this.#pins.listed(server, list, items, source);
  }

  /** A server has said in its handshake what it wants to be known of it. */
  greeted(server: string, instructions: string | undefined): void {
    this.#pins.listed(server, "instructions", instructionsItem(instructions), "whole");
  }

  /** What of a server's instructions, and of its title beside them, may be passed on. */
  introduction(server: string, title: string | undefined, instructions: string | undefined): IntroductionOf {
    const refused = this.#pins.deviation(server, "instructions", INSTRUCTIONS)?.refused === true;
    // A title is a text of the server's too, and nobody pinned it.
    return { title: this.enforces(server) ? undefined : title, instructions: refused ? undefined : instructions };
  }

  /** What is wrong with an item, or with the template that makes a URI; undefined if nothing is. */
  deviation({ server, kind, original }: PolicyItem): Deviation | undefined {
    if (!this.#pins.active) return undefined;
    const list = LIST_OF[kind];
    const direct = this.#pins.deviation(server, list, original);
    return direct ?? (kind === "resource" ? this.#byTemplate(server, original) : undefined);
  }

  /** The decision by which the item is hidden and refused, for `list --hidden` and `explain`; undefined if it is not. */
  refusal(item: PolicyItem): Decision | undefined {
    const found = this.deviation(item);
    return found?.refused === true ? { effect: "deny", rule: "pin", reason: found.reason } : undefined;
  }

  close(): void {
    this.#pins.close();
  }

  /** A URI that only a refused template makes is refused with it. */
  #byTemplate(server: string, uri: string): Deviation | undefined {
    const templates = this.#pins.names(server, "templates");
    if (!templates.some(([, refused]) => refused) || this.#options.listsUri(server, uri)) return undefined;
    const spellings = [uri, ...plainSpellings(uri)];
    const makers = templates.filter(([text]) => {
      const template = compileTemplate(text);
      return spellings.some((spelling) => template.matches(spelling));
    });
    if (makers.length === 0 || makers.some(([, refused]) => !refused)) return undefined;
    return this.#pins.deviation(server, "templates", makers[0]![0]);
  }

  #record({ server, list, name, fault, refused, reason }: Deviation): void {
    const decision: Decision = { effect: refused ? "deny" : "allow", rule: "pin", reason };
    // Not "pin": under that name the redactor sees a secret.
    this.#options.record({ server, kind: KIND_OF[list], name, decision, definition: fault });
  }
}

export interface IntroductionOf {
  readonly title: string | undefined;
  readonly instructions: string | undefined;
}

/** Instructions as a list of one item, or of none. */
export function instructionsItem(text: string | undefined): { key: string; bytes: Buffer }[] {
  return text === undefined || text === "" ? [] : [{ key: INSTRUCTIONS, bytes: Buffer.from(JSON.stringify(text)) }];
}
