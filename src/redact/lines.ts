/** A text that comes line by line, such as a server's stderr. */
import { MASK } from "./patterns.ts";

const BEGIN = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/;
const END = /-----END [A-Z0-9 ]*PRIVATE KEY-----/;
/** The longest keys have about a hundred. */
const MAX_LINES = 200;

/** Masks the lines of a private key, too, each of which alone looks like nothing. One for each text. */
export function byLine(redact: (line: string) => string): (line: string) => string {
  let left = 0;
  return (line) => {
    if (left > 0) {
      left = END.test(line) ? 0 : left - 1;
      return MASK;
    }
    if (BEGIN.test(line) && !END.test(line)) left = MAX_LINES;
    return redact(line);
  };
}
