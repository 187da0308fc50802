import { mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { expandHome, findConfig } from "../../src/config/find.ts";
import { tempDir } from "../support/dir.ts";

describe("the configuration file", () => {
  it("is the one that --config names, relative to the working directory, though it may not exist", () => {
    expect(findConfig("sub/c.json", { SWITCHYARD_CONFIG: "/other" }, "/folder", "linux")).toBe("/folder/sub/c.json");
    expect(findConfig("/abs/c.json", {}, "/folder", "linux")).toBe("/abs/c.json");
    expect(findConfig("c.json", {}, "C:\\work", "win32")).toBe("C:\\work\\c.json");
  });

  it("is else that of $SWITCHYARD_CONFIG, though it may not exist", async () => {
    await using dir = await tempDir();
    writeFileSync(dir.file("switchyard.json"), "{}");
    expect(findConfig(undefined, { SWITCHYARD_CONFIG: "c.json" }, dir.path, "linux")).toBe(dir.file("c.json"));
    expect(findConfig(undefined, { SWITCHYARD_CONFIG: "~/c.json", HOME: "/home/me" }, dir.path, "linux")).toBe(
      "/home/me/c.json",
    );
  });

  it.skipIf(process.platform === "win32")("is else ./switchyard.json, else the user's own", async () => {
    await using dir = await tempDir();
    await using other = await tempDir();
    const env = { XDG_CONFIG_HOME: dir.path };
    mkdirSync(dir.file("switchyard"));
    writeFileSync(dir.file("switchyard/switchyard.json"), "{}");
    expect(findConfig(undefined, env, other.path, "linux")).toBe(dir.file("switchyard/switchyard.json"));
    writeFileSync(other.file("switchyard.json"), "{}");
    expect(findConfig(undefined, env, other.path, "linux")).toBe(other.file("switchyard.json"));
  });

  it("that is nowhere is an error with every place that was searched", () => {
    const search = (env: NodeJS.ProcessEnv, cwd: string, platform: NodeJS.Platform) => () =>
      findConfig(undefined, env, cwd, platform);
    expect(search({ HOME: "/no/home" }, "/no/work", "linux")).toThrow(
      /--config.*\n.*SWITCHYARD_CONFIG.*\n.*\/no\/work\/switchyard\.json.*\n.*\/no\/home\/\.config\/switchyard\/switchyard\.json/,
    );
    expect(search({ HOME: "/no/home", XDG_CONFIG_HOME: "relative" }, "/no/work", "linux")).toThrow("/no/home/.config/");
    expect(search({ APPDATA: "C:\\no\\Roaming" }, "C:\\no", "win32")).toThrow(
      "C:\\no\\Roaming\\switchyard\\switchyard.json",
    );
  });

  it("may be under ~, which is the home folder and nobody else's", () => {
    const env = { HOME: "/home/me", USERPROFILE: "C:\\Users\\me" };
    expect(expandHome("~/a", env, "linux")).toBe("/home/me/a");
    expect(expandHome("~", env, "linux")).toBe("/home/me");
    expect(expandHome("~\\a", env, "win32")).toBe("C:\\Users\\me\\a");
    expect(expandHome("~other/a", env, "linux")).toBe("~other/a");
    expect(expandHome("a/~/b", env, "linux")).toBe("a/~/b");
  });
});
