/** A TCP connection that can be cut: in front of a server whose streams are to break in mid-call. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Relay extends AsyncDisposable {
  readonly port: number;
  /** Ends every connection there is; new ones are welcome. Gives their number. */
  cut(): number;
}

export async function startRelay(port: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => {});
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const cut = (): number => {
    const count = sockets.size / 2;
    for (const socket of sockets) socket.destroy();
    return count;
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
