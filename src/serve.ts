/** `switchyard serve` on stdio: one host on stdin and stdout, from the first byte to the last child process. */
import type { Readable, Writable } from "node:stream";
import { StdioHostLeg } from "./downstream/stdio.ts";
import { cacheFolder } from "./lastseen.ts";
import { linkChain } from "./loop.ts";
import { type ProxyOptions, SwitchyardProxy } from "./proxy.ts";
import { unusedEntries } from "./unused.ts";
import { killAllGroupsSync } from "./upstream/legs/kill.ts";
import { within } from "./within.ts";

export interface ServeOptions extends ProxyOptions {
  readonly input: Readable;
  readonly output: Writable;
}

type Ending = "eof" | "broken" | "SIGTERM" | "SIGINT" | "SIGHUP" | "crash";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
/** After a second signal: a host that insists (SDK clients: EOF, 2 s, SIGTERM, 2 s, SIGKILL) must not leave orphans. */
const KILL_MS = 1000;
/** Answers that are still on their way out may take this long at the end. */
const FLUSH_MS = 3000;

/**
 * Resolves with the exit code once everything is stopped and written out: 0 on EOF or a signal, 1 after a crash.
 * Rejects with a ConfigError if the configuration would start itself.
 */
export async function startServe(options: ServeOptions): Promise<number> {
  const { config, log, input, output } = options;
  const env = linkChain(config.file, options.env ?? process.env);
  const cache = cacheFolder(env, process.platform);
  return new Promise((resolve) => {
    let ending: Ending | undefined;
    const leg = new StdioHostLeg({
      input,
      output,
      maxMessageBytes: config.maxMessageBytes,
      onPressure: (pressed) => proxy.pressed(pressed),
      onGone: (why) => end(why),
    });
    const proxy = new SwitchyardProxy({ cacheFolder: cache, ...options, env }, (chunks) => leg.write(chunks));

    const end = (why: Ending): void => {
      // A second signal, or a host that dies while we drain, shortens the rest.
      if (ending !== undefined) {
        if (why !== "eof") hurry();
        return;
      }
      ending = why;
      log.info({ why }, "shutting down");
      void finish(why);
    };
    let insists = false;
    let hurry: () => void = () => {};
    const hurried = new Promise<void>((done) => {
      hurry = () => {
        insists = true;
        // Whatever step the servers are at, their time ends now: the host's next signal is one that we cannot handle.
        setTimeout(killAllGroupsSync, KILL_MS).unref();
        done();
      };
    });

    const finish = async (why: Ending): Promise<void> => {
      if (why === "eof") proxy.session.deaf();
      // Nobody is left to read an answer when the pipe is broken; else requests in flight may end.
      if (why !== "broken" && why !== "crash") {
        await within(config.timeouts.drainMs, Promise.race([proxy.session.drain(), hurried]));
      }
      await Promise.all([within(FLUSH_MS, leg.flushed()), proxy.close(insists)]);
      leg.close();
      for (const signal of SIGNALS) process.off(signal, onSignal);
      process.off("uncaughtException", onCrash);
      process.off("unhandledRejection", onCrash);
      resolve(why === "crash" ? 1 : 0);
    };

    const onSignal = (signal: NodeJS.Signals): void => end(signal as Ending);
    const onCrash = (error: unknown): void => {
      log.error({ error: String(error), stack: error instanceof Error ? error.stack : undefined }, "unexpected fault");
      end("crash");
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
    process.on("uncaughtException", onCrash);
    process.on("unhandledRejection", onCrash);
    process.on("exit", killAllGroupsSync);

    // The children start at once; the host is listened to once what they offered last time has been read.
    void proxy.start().then(() => leg.serve(proxy.session));
    void unusedEntries(proxy).then((unused) => {
      for (const entry of ending === undefined ? unused : [])
        log.warn({ entry }, "an entry of the policy has no effect");
    });
  });
}
