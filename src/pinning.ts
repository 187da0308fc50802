/**
 * Introduces the pins to the rest: lists and instructions go in, what is refused comes out, and every deviation becomes
 * one record of the audit file, whether anybody ever names the item or not.
 */
import type { ServerConfig } from "./config/types.ts";
import { unknownItem } from "./errors.ts";
import {
  type Caller,
  Cancellation,
  type Decision,
  type Exchange,
  type Layer,
  newTrail,
  type PolicyItem,
} from "./exchange.ts";
import type { Log } from "./log.ts";
import { INSTRUCTIONS, type PinnedList } from "./pipeline/pins/book.ts";
import { type Deviation, Pins, type Source } from "./pipeline/pins/pins.ts";
import { plainSpellings } from "./pipeline/policy/spelling.ts";
import type { ListMethod } from "./router/catalogue.ts";
import type { RawItem } from "./router/items.ts";
import { compileTemplate } from "./router/template.ts";
import { rowOf } from "./wire/methods.ts";
import { requestFrame, resultFrame } from "./wire/splice.ts";
import { LATEST_LEGACY } from "./wire/version.ts";

export interface PinningOptions {
  /** Path of the configuration file. */
  readonly file: string;
  readonly servers: readonly Pick<ServerConfig, "name" | "pin">[];
  readonly log: Log;
  /** Whether the server lists that very URI. */
  listsUri(server: string, uri: string): boolean;
  /** The audit layer. */
  audit(): Layer<Exchange>;
  /** The host, once it has said who it is. */
  caller(): Caller | undefined;
  /** Other items are visible than before. */
  changed(): void;
}

/** Resources are not pinned one by one: there may be a million, and a definition of one says little. */
const PINNED: Readonly<Partial<Record<ListMethod, PinnedList>>> = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/templates/list": "templates",
};
const METHODS = {
  tools: "tools/list",
  prompts: "prompts/list",
  templates: "resources/templates/list",
  instructions: "initialize",
} as const;
/** Stands for the host before it has said who it is. */
const NOBODY: Caller = {
  session: "",
  client: { name: "", version: "" },
  principal: undefined,
  revision: LATEST_LEGACY,
  era: "legacy",
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
      log: options.log,
      found: (deviation) => this.#record(deviation),
      changed: () => options.changed(),
    });
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
    const method = METHODS[list];
    const trail = newTrail();
    trail.server = server;
    trail.name = name;
    trail.pin = fault;
    trail.decision = { effect: refused ? "deny" : "allow", rule: "pin", reason };
    const kind = list === "templates" ? "resource" : list === "prompts" ? "prompt" : "tool";
    const outcome = () => (refused ? Promise.reject(unknownItem(kind, name)) : Promise.resolve(resultFrame({})));
    this.#options
      .audit()(outcome)({
        direction: "toServer",
        frame: requestFrame(method, {}),
        row: { ...rowOf(method)!, audited: true },
        caller: this.#options.caller() ?? NOBODY,
        cancellation: new Cancellation(),
        trail,
        progress: undefined,
        server: undefined,
        target: undefined,
      })
      .catch(() => {
        // Refused, as recorded; or not recorded, of which the audit has told.
      });
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
