/**
 * Keeps watch over what servers define: what came in is compared with what is pinned, before anybody sees it. The first
 * whole list of a server is pinned as it is; from then on another definition, or one more, is a deviation. It is named
 * in the log and the audit once, and in mode "enforce" hidden and refused until a person accepts it.
 *
 * Judged on (server, list, original name), like policy, and on the definition that is known at that moment.
 */
import type { PinMode } from "../../config/types.ts";
import type { Log } from "../../log.ts";
import { type Fault, inWords, judge, KIND_OF, type Pin, type PinnedList } from "./book.ts";
import { canonical, digestOf } from "./canonical.ts";
import { Keeper } from "./keeper.ts";

/** Something that is not as it was pinned. */
export interface Deviation {
  readonly server: string;
  readonly list: PinnedList;
  readonly name: string;
  readonly fault: Fault;
  /** Hidden and refused ("enforce"). */
  readonly refused: boolean;
  /** One clause, with both digests where there are two. */
  readonly reason: string;
}

/**
 * How a list came in: "whole" from the server itself; "part" of it, because the rest could not be had; or "kept" from
 * an earlier start, standing in until the server has answered.
 */
export type Source = "whole" | "part" | "kept";

export interface PinsOptions {
  readonly file: string;
  readonly modes: ReadonlyMap<string, PinMode>;
  /** Whether what is seen for the first time is pinned; else it passes unpinned. */
  readonly learns: boolean;
  readonly log: Log;
  /** A definition that changed or is new, once. */
  readonly found: (deviation: Deviation) => void;
  /** What is refused is not what it was, though no list came in: the file is another one. */
  readonly changed: () => void;
}

interface Known {
  readonly items: ReadonlyMap<string, Pin>;
  readonly source: Source;
  readonly deviations: ReadonlyMap<string, Deviation>;
}

const WATCH_MS = 2_000;
const MAX_TOLD = 10_000;

export class Pins {
  readonly #options: PinsOptions;
  readonly #known = new Map<string, Map<PinnedList, Known>>();
  readonly #told = new Set<string>();
  readonly #keeper: Keeper | undefined;
  readonly #watch: NodeJS.Timeout | undefined;

  constructor(options: PinsOptions) {
    this.#options = options;
    const { modes, file, log } = options;
    if (![...modes.values()].some((mode) => mode !== "off")) return;
    this.#keeper = new Keeper(file, log, () => this.#judgeAgain());
    this.#watch = setInterval(() => this.#look(), WATCH_MS).unref();
  }

  /** Whether anything is pinned at all. */
  get active(): boolean {
    return this.#keeper !== undefined;
  }

  enforces(server: string): boolean {
    return this.#options.modes.get(server) === "enforce";
  }

  /** A list came in. `bytes`: JSON text of the definition as the server sent it. */
  listed(
    server: string,
    list: PinnedList,
    items: readonly { readonly key: string; readonly bytes: Buffer }[],
    source: Source,
  ): void {
    if (!this.#watches(server)) return;
    const definitions = new Map(
      items.map(({ key, bytes }) => {
        const text = canonical(bytes.toString("utf8"));
        return [key, { sha256: digestOf(text), text }];
      }),
    );
    const lists = this.#known.get(server) ?? new Map<PinnedList, Known>();
    this.#known.set(server, lists);
    lists.set(list, this.#judged(server, list, definitions, source));
  }

  /** What is wrong with that item now; undefined for what is as it was pinned, and where nothing is pinned. */
  deviation(server: string, list: PinnedList, name: string): Deviation | undefined {
    if (!this.#watches(server)) return undefined;
    const known = this.#known.get(server)?.get(list);
    if (known?.items.has(name) === true) {
      const found = known.deviations.get(name);
      if (found?.refused !== true || !this.#keeper!.refresh()) return found;
      // Somebody has accepted something just now.
      this.#judgeAgain();
      return this.#known.get(server)?.get(list)?.deviations.get(name);
    }
    // In no list that is pinned: only a file that nobody can rely on has to do with it.
    return this.#keeper!.damage(server) === undefined ? undefined : this.#deviation(server, list, name, "", "whole");
  }

  /** What is known of that list: each name, and whether it is refused. */
  names(server: string, list: PinnedList): [name: string, refused: boolean][] {
    const known = this.#known.get(server)?.get(list);
    return [...(known?.items.keys() ?? [])].map((name) => [name, known!.deviations.get(name)?.refused === true]);
  }

  /** Writes what is to be written. */
  close(): void {
    clearInterval(this.#watch);
    this.#keeper?.close();
  }

  #watches(server: string): boolean {
    return this.#keeper !== undefined && (this.#options.modes.get(server) ?? "off") !== "off";
  }

  #look(): void {
    this.#keeper!.retry();
    if (this.#keeper!.refresh()) this.#judgeAgain();
  }

  /** Another file: the same lists, judged by it. */
  #judgeAgain(): void {
    let changed = false;
    for (const [server, lists] of this.#known) {
      for (const [list, known] of lists) {
        const now = this.#judged(server, list, known.items, known.source);
        lists.set(list, now);
        changed ||= refusals(now) !== refusals(known);
      }
    }
    if (changed) this.#options.changed();
  }

  #judged(server: string, list: PinnedList, items: ReadonlyMap<string, Pin>, source: Source): Known {
    const keeper = this.#keeper!;
    const first =
      this.#options.learns &&
      source === "whole" &&
      keeper.pins(server, list) === undefined &&
      keeper.damage(server) === undefined;
    if (first) keeper.pinFirst(server, list, items);
    const deviations = new Map<string, Deviation>();
    for (const [name, { sha256 }] of items) {
      const deviation = this.#deviation(server, list, name, sha256, source);
      if (deviation === undefined) continue;
      deviations.set(name, deviation);
      this.#tell(deviation);
    }
    return { items, source, deviations };
  }

  #deviation(server: string, list: PinnedList, name: string, current: string, source: Source): Deviation | undefined {
    const refused = this.enforces(server);
    const fault = this.#fault(server, list, name, current, source);
    // Where everything passes it matters little that something could not be pinned.
    if (fault === undefined || (fault.state === "unpinned" && !refused)) return undefined;
    return { server, list, name, fault, refused, reason: inWords(list, fault) };
  }

  #fault(server: string, list: PinnedList, name: string, current: string, source: Source): Fault | undefined {
    const keeper = this.#keeper!;
    const damage = keeper.damage(server);
    if (damage !== undefined) return { state: "damaged", why: damage };
    const trouble = keeper.trouble(server, list);
    if (trouble !== undefined) return { state: "unpinned", current, why: `the pin file cannot be written: ${trouble}` };
    const pins = keeper.pins(server, list);
    if (pins !== undefined) return judge(pins, name, current);
    // What stands in until the server has answered is what was seen before; calls wait for the server's own word.
    if (source === "kept" || !this.#options.learns) return undefined;
    return { state: "unpinned", current, why: "the server's list could not be read to its end" };
  }

  #tell(deviation: Deviation): void {
    const { server, list, name, fault, refused } = deviation;
    // Of these the keeper has told.
    if (fault.state === "damaged") return;
    const current = fault.state === "unpinned" ? "" : fault.current;
    const key = JSON.stringify(
      fault.state === "unpinned" ? [server, list] : [server, list, name, fault.state, current],
    );
    if (this.#told.has(key) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(key);
    const fields = { server, kind: KIND_OF[list], item: name, ...fault };
    if (fault.state === "unpinned") this.#options.log.error(fields, "definitions are refused that are not pinned");
    else {
      const effect = refused
        ? "it is hidden and refused until switchyard pin --accept"
        : "it is passed on all the same";
      this.#options.log.warn(fields, `a definition is not the pinned one: ${effect}`);
      this.#options.found(deviation);
    }
  }
}

function refusals({ deviations }: Known): string {
  return JSON.stringify([...deviations.values()].filter(({ refused }) => refused).map(({ name }) => name));
}
