/** Raw JSON text without parsing it: what a fidelity test compares. */
export function rawEntries(text: string): [string | number, string][];
/** Raw text at a path of keys and indices; undefined where there is nothing. Of equal keys the last one counts. */
export function rawAt(text: string, ...path: (string | number)[]): string | undefined;
