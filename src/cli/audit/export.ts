/** `audit export`: records for other programs, streamed. */
import { type PlacedRecord, parseLine } from "../../pipeline/audit/line.ts";
import { linesOfChain, openChain } from "../../pipeline/audit/read.ts";
import { type Shell, version } from "../shell.ts";
import { csvHeader, csvRow } from "./csv.ts";
import { auditChains, type FileOptions } from "./files.ts";
import { type FilterOptions, makeFilter } from "./filter.ts";
import { otlpRequest, spanOf } from "./otlp.ts";

interface ExportOptions extends FileOptions, FilterOptions {
  format: "csv" | "otlp-json";
}

/** Takes records one by one and gives text when enough has come together. */
interface Format {
  add(record: PlacedRecord, line: Buffer): string;
  end(): string;
  /** Lines that are no requests and have no place in it. */
  readonly leftOut: number;
}

const CHUNK_CHARS = 65_536;
const SPANS = 500;

export async function exportAudit(shell: Shell, files: readonly string[], options: ExportOptions): Promise<number> {
  const { fits } = makeFilter(options, Date.now());
  const chains = await auditChains(shell, files, options);
  const format = options.format === "csv" ? csv() : otlp();
  let unreadable = 0;
  for (const chain of chains) {
    for (const { bytes } of linesOfChain(openChain(chain))) {
      const record = parseLine(bytes);
      if (record === undefined) unreadable++;
      const text = record !== undefined && fits(record) ? format.add(record, bytes) : "";
      if (text !== "") await shell.print(text);
      // Nobody reads it any more.
      if (shell.io.stdout.destroyed) return 1;
    }
  }
  await shell.print(format.end());
  if (format.leftOut > 0) await shell.complain(`left out: ${format.leftOut} lines that are no requests\n`);
  if (unreadable > 0) {
    await shell.complain(`left out: ${unreadable} lines that are no records; "switchyard audit verify" says why\n`);
  }
  return 0;
}

function csv(): Format {
  let text = csvHeader;
  const take = (): string => {
    const taken = text;
    text = "";
    return taken;
  };
  return {
    leftOut: 0,
    add(record) {
      text += csvRow(record);
      return text.length < CHUNK_CHARS ? "" : take();
    },
    end: take,
  };
}

function otlp(): Format {
  let spans: object[] = [];
  let leftOut = 0;
  const take = (): string => {
    const taken = spans;
    spans = [];
    return taken.length === 0 ? "" : otlpRequest(taken, version);
  };
  return {
    get leftOut() {
      return leftOut;
    },
    add(record, line) {
      if (typeof record["method"] !== "string") {
        leftOut++;
        return "";
      }
      spans.push(spanOf(record, line));
      return spans.length < SPANS ? "" : take();
    },
    end: take,
  };
}
