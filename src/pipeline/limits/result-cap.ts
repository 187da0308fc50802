/** Around dispatch: results over `maxResultBytes` of their server are cut. Below it, one comparison; without, no layer. */
import type { ServerConfig } from "../../config/types.ts";
import type { Answer, Layer, Permitted } from "../../exchange.ts";
import { cutResult, isCapped } from "./cut.ts";

export function resultCapLayer(config: {
  servers: readonly Pick<ServerConfig, "name" | "maxResultBytes">[];
}): Layer<Permitted> {
  const caps = new Map(config.servers.map(({ name, maxResultBytes }) => [name, maxResultBytes]));
  if (![...caps.values()].some((cap) => cap > 0)) return (next) => next;
  return (next) => (exchange) => {
    const { target, row } = exchange;
    const cap = target.type === "item" ? (caps.get(target.server) ?? 0) : 0;
    const { method } = row;
    if (cap === 0 || !isCapped(method)) return next(exchange);
    return next(exchange).then((answer): Answer => {
      if (answer.bodyKey !== "result" || answer.bodyEnd - answer.bodyStart <= cap) return answer;
      const cut = cutResult(answer, method, cap, needsStructure(exchange));
      exchange.trail.truncated = cut.truncation;
      return cut.answer;
    });
  };
}

/** A tool with an output schema: common clients throw where its result has no structured content and is no error. */
function needsStructure({ target }: Permitted): boolean {
  if (target.type !== "item" || target.kind !== "tool") return false;
  const schema = target.item.definition?.()["outputSchema"];
  return typeof schema === "object" && schema !== null;
}
