import { expect, test } from "vitest";
import type { StdioTarget } from "../../../src/config/types.ts";
import { type Lookup, planLaunch } from "../../../src/upstream/legs/command.ts";
import { batchCommandLine, executableNames, quoteForBatch } from "../../../src/upstream/legs/command-windows.ts";
import { childEnvironment } from "../../../src/upstream/legs/environment.ts";

function target(command: string, overrides: Partial<StdioTarget> = {}): StdioTarget {
  return { type: "stdio", command, args: ["-y", "x"], env: {}, cwd: undefined, ...overrides };
}

function disk(platform: NodeJS.Platform, files: readonly string[], plain: readonly string[] = []): Lookup {
  const windows = platform === "win32";
  return {
    platform,
    cwd: windows ? "C:\\here" : "/here",
    execPath: windows ? "C:\\node\\node.exe" : "/opt/node/bin/node",
    file: (path) => (files.includes(path) ? "executable" : plain.includes(path) ? "not-executable" : "missing"),
  };
}

test("POSIX: a bare name is sought on PATH in order; the PATH stays as it was written", () => {
  const env = { PATH: "/usr/bin::/bin" };
  const lookup = disk("linux", ["/bin/npx", "/opt/node/bin/npx"], ["/usr/bin/npx"]);
  expect(planLaunch(target("npx"), env, lookup)).toEqual({ file: "/bin/npx", args: ["-y", "x"], env, verbatim: false });
});

test("POSIX: what is not on a desktop's short PATH is found beside our Node or in the usual places, with that PATH", () => {
  const env = { PATH: "/usr/bin:/bin", HOME: "/home/u" };
  const beside = planLaunch(target("npx"), env, disk("linux", ["/opt/node/bin/npx"]));
  expect(beside.file).toBe("/opt/node/bin/npx");
  expect(beside.env["PATH"]?.startsWith("/usr/bin:/bin:/opt/node/bin:/usr/local/bin:")).toBe(true);
  expect(planLaunch(target("uvx"), env, disk("darwin", ["/home/u/.local/bin/uvx"])).file).toBe(
    "/home/u/.local/bin/uvx",
  );
});

test("POSIX: a PATH that the entry sets is the only place", () => {
  const to = target("npx", { env: { PATH: "/own" } });
  expect(() => planLaunch(to, { PATH: "/own" }, disk("linux", ["/opt/node/bin/npx"]))).toThrow("(searched PATH: /own)");
});

test("POSIX: a command with a path starts at cwd, and its directory is put behind PATH", () => {
  const lookup = disk("linux", ["/srv/bin/tool", "/n/bin/npx"]);
  const relative = planLaunch(target("./bin/tool", { cwd: "/srv" }), { PATH: "/bin" }, lookup);
  expect([relative.file, relative.env["PATH"]]).toEqual(["/srv/bin/tool", "/bin:/srv/bin"]);
  expect(planLaunch(target("/n/bin/npx"), { PATH: "/n/bin" }, lookup).env["PATH"]).toBe("/n/bin");
  expect(planLaunch(target("a\\b"), { PATH: "/bin" }, disk("linux", ["/bin/a\\b"])).file).toBe("/bin/a\\b");
});

test("Windows: PATHEXT is tried, an .exe starts directly, a .cmd through the command processor", () => {
  const env = {
    Path: "C:\\Program Files\\nodejs;C:\\tools",
    PATHEXT: ".COM;.EXE;.CMD",
    ComSpec: "C:\\Windows\\cmd.exe",
  };
  const lookup = disk("win32", [
    "C:\\Program Files\\nodejs\\npx.cmd",
    "C:\\tools\\uvx.exe",
    "C:\\Windows\\System32\\cmd.exe",
  ]);
  expect(planLaunch(target("uvx"), env, lookup)).toEqual({
    file: "C:\\tools\\uvx.exe",
    args: ["-y", "x"],
    env,
    verbatim: false,
  });
  expect(planLaunch(target("npx"), env, lookup)).toEqual({
    file: "C:\\Windows\\cmd.exe",
    args: ["/e:ON", "/v:OFF", "/d", "/s", "/c", '""C:\\Program Files\\nodejs\\npx.cmd" -y x"'],
    env,
    verbatim: true,
  });
  const own = planLaunch(target("cmd", { args: ["/c", "npx", "a b"] }), { PATH: "C:\\Windows\\System32" }, lookup);
  expect(own).toMatchObject({ file: "C:\\Windows\\System32\\cmd.exe", args: ["/c", "npx", "a b"], verbatim: false });
  expect(() => planLaunch(target("npx", { args: ["a\nb"] }), env, lookup)).toThrow("line break");
  expect(executableNames("npx.cmd", ".EXE;.CMD")).toEqual(["npx.cmd", "npx.cmd.exe", "npx.cmd.cmd"]);
});

test("Windows: arguments of a batch file are quoted so that cmd and the program read them as they were", () => {
  const cases: [string, string][] = [
    ["plain-1.0_x", "plain-1.0_x"],
    ["C:\\dir\\file", "C:\\dir\\file"],
    ["C:\\dir\\", '"C:\\dir\\\\"'],
    ["", '""'],
    ["a b", '"a b"'],
    ["a&b|c>d<e^f", '"a&b|c>d<e^f"'],
    ["50%", '"50%%cd:~,%"'],
    ["%PATH%", '"%%cd:~,%PATH%%cd:~,%"'],
    ['say "hi"', '"say ""hi"""'],
    ['{"a":"b\\"}', '"{""a"":""b\\\\""}"'],
    ["(x)", '"(x)"'],
    ["ü日本", "ü日本"],
    ["a\u0085", '"a\u0085"'],
  ];
  for (const [argument, quoted] of cases) expect(quoteForBatch(argument)).toBe(quoted);
  expect(quoteForBatch("a\r")).toBeUndefined();
  expect(batchCommandLine("C:/x/a.cmd", ["b c", "d"])?.at(-1)).toBe('""C:\\x\\a.cmd" "b c" d"');
});

test("Windows: the environment's names count without case, and the entry's spelling wins", () => {
  const base = { Path: "C:\\w", SystemRoot: "C:\\Windows", "ProgramFiles(x86)": "C:\\P", Secret: "s", TEMP: "C:\\t" };
  expect(childEnvironment(base, { PATH: "C:\\own", KEY: "k" }, "win32")).toEqual({
    ...{ SystemRoot: "C:\\Windows", "ProgramFiles(x86)": "C:\\P", TEMP: "C:\\t", PATH: "C:\\own", KEY: "k" },
  });
  expect(childEnvironment({ Path: "x", PATH: "/bin", SystemRoot: "y", lc_all: "z" }, {}, "linux")).toEqual({
    PATH: "/bin",
  });
});
