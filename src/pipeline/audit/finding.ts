/** What reading a chain brings to light: a place and a sentence about it. */

export interface Place {
  readonly file: string;
  readonly line: number;
}

export interface Finding extends Place {
  /** Goes on after "FILE:LINE: ". */
  readonly what: string;
}

/** Ends the reading: here is something that no crash leaves behind. */
export class Break extends Error {
  readonly finding: Finding;

  constructor({ file, line }: Place, what: string) {
    super(what);
    this.finding = { file, line, what };
  }
}

/** "record 5", "records 5 to 9". */
export function recordsText(first: number, last: number): string {
  return first === last ? `record ${first}` : `records ${first} to ${last}`;
}
