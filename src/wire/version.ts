/** Protocol revisions of the legacy era and what each can carry. Source: spec.md §1.2 and §1.20. */

export const LATEST_LEGACY = "2025-11-25";

/** Oldest first: the order is what `atLeast` compares. */
const LEGACY_REVISIONS: readonly string[] = ["2024-11-05", "2025-03-26", "2025-06-18", LATEST_LEGACY];

export function isLegacyRevision(revision: string): boolean {
  return LEGACY_REVISIONS.includes(revision);
}

/** What we answer a host that asks for `requested`: the same if we know it, else our latest. */
export function negotiate(requested: unknown): string {
  return typeof requested === "string" && isLegacyRevision(requested) ? requested : LATEST_LEGACY;
}

/** True if `revision` is `other` or newer. Dates in ISO form compare as text. */
export function atLeast(revision: string, other: string): boolean {
  return revision >= other;
}
