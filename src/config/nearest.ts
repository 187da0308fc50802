/** "Did you mean …": the known word that is the fewest edits away from a mistyped one, if any is near enough. */

/** Levenshtein distance with neighbours swapped counted as one edit; case does not count. */
export function distance(a: string, b: string): number {
  const left = a.toLowerCase();
  const right = b.toLowerCase();
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]) {
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[right.length]!;
}

/** The nearest of `known`, or undefined where nothing is nearer than a third of the word (at least two edits). */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const limit = Math.max(2, Math.floor(word.length / 3));
  let best: string | undefined;
  let bestCost = limit + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestCost) continue;
    const cost = distance(word, candidate);
    // A word of three letters is two edits from every other one: more than half changed is no hint.
    if (cost < bestCost && cost < Math.max(word.length, candidate.length) / 2) {
      best = candidate;
      bestCost = cost;
    }
  }
  return best;
}
