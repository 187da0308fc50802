/**
 * First layer, around all others: exactly one record for every exchange that names or lists something, however it ended,
 * and in the file before the answer leaves. What it records, the layers below have noted on the trail.
 */
import { Fault } from "../../errors.ts";
import type { Answer, Exchange, Handler, Layer } from "../../exchange.ts";
import { type AuditLine, makeRecorder, type Recorder, type RecordOptions } from "./record.ts";
import type { AuditSink } from "./sink.ts";

/** Without a sink nothing is recorded, and the layer is not there. */
export function auditLayer(sink: AuditSink | undefined, options: RecordOptions): Layer<Exchange> {
  if (sink === undefined) return (next) => next;
  const recorder = makeRecorder(options);
  const soon = afterSending(recorder);
  return (next) => (exchange) => {
    if (!exchange.row.audited) return next(exchange);
    return recorded(sink, recorder, soon, next, exchange);
  };
}

/**
 * Prepares records once the requests of this turn are on their way: the outbox has asked for its tick before, while the
 * request went through the layers.
 */
function afterSending(recorder: Recorder): (exchange: Exchange) => void {
  let waiting: Exchange[] = [];
  const prepareAll = (): void => {
    const all = waiting;
    waiting = [];
    for (const exchange of all) recorder.prepare(exchange);
  };
  return (exchange) => {
    if (waiting.length === 0) process.nextTick(prepareAll);
    waiting.push(exchange);
  };
}

async function recorded(
  sink: AuditSink,
  recorder: Recorder,
  soon: (exchange: Exchange) => void,
  next: Handler<Exchange>,
  exchange: Exchange,
): Promise<Answer> {
  const refusal = sink.refusal();
  if (refusal !== undefined) throw withheld(refusal, false);
  let answer: Answer;
  try {
    const answering = next(exchange);
    soon(exchange);
    answer = await answering;
  } catch (failure) {
    await kept(sink, exchange, recorder.failed(exchange, failure));
    throw failure;
  }
  await kept(sink, exchange, recorder.answered(exchange, answer));
  return answer;
}

async function kept(sink: AuditSink, exchange: Exchange, line: AuditLine): Promise<void> {
  try {
    await sink.append(line);
  } catch (error) {
    throw withheld(error, exchange.trail.sentAt !== undefined);
  }
}

/** Whoever asked must know whether it ran: sending it again could run it twice. */
function withheld(error: unknown, ran: boolean): Fault {
  const reason = error instanceof Error ? error.message : String(error);
  const told = ran
    ? "The request was carried out, but its record could not be written, so its answer is withheld"
    : "Nothing was sent";
  return new Fault("AUDIT_UNAVAILABLE", `${told}. ${reason}`, { retrySafe: !ran, data: { ran }, cause: error });
}
