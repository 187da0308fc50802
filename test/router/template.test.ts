import { describe, expect, it } from "vitest";
import { compileTemplate } from "../../src/router/template.ts";

describe("a URI template", () => {
  it.each([
    ["file:///{path}", "file:///a.txt"],
    ["file:///{path}", "file:///"],
    ["file:///{+path}", "file:///a/b?c#d"],
    ["note://{id}/body", "note://7/body"],
    ["note://{id}/body", "note://a%20b/body"],
    ["demo://{a},{b}", "demo://1,2"],
    ["demo://x{#part}", "demo://x#y"],
    ["demo://x{#part}", "demo://x"],
    ["demo://x{.ext}", "demo://x.json"],
    ["demo:/{/a,b}/end", "demo://1/2/end"],
    ["demo:/{/a,b}/end", "demo://1/end"],
    ["demo:/{/path*}", "demo://1/2/3/4"],
    ["demo://x{;a,b}", "demo://x;a=1;b=2"],
    ["search://all{?q,page}", "search://all?q=a&page=2"],
    ["search://all{?q*}", "search://all"],
    ["search://all?fixed=1{&q}", "search://all?fixed=1&q=2"],
    ["demo://{id:3}/x", "demo://abc/x"],
    ["plain://x", "plain://x"],
    ["broken://{", "broken://{"],
  ])("%s makes %s", (template, uri) => {
    expect(compileTemplate(template).matches(uri)).toBe(true);
  });

  it.each([
    ["file:///{path}", "file:///a/b"],
    ["file:///{path}", "other:///a"],
    ["note://{id}/body", "note://7/head"],
    ["note://{id}/body", "note://7/body/more"],
    ["demo:/{/a,b}/end", "demo://1/2/3/end"],
    ["search://all{?q}", "search://allmost"],
    ["search://all{?q}", "search://all#q"],
    ["plain://x", "plain://xy"],
    ["broken://{", "broken://x"],
    ["broken://}{a}", "broken://}x"],
    ["reserved://{=a}", "reserved://a"],
  ])("%s does not make %s", (template, uri) => {
    expect(compileTemplate(template).matches(uri)).toBe(false);
  });

  it("is as specific as it has literal characters", () => {
    expect(compileTemplate("file:///{+path}").literals).toBe(8);
    expect(compileTemplate("file:///docs/{name}").literals).toBe(13);
  });

  it("made to be slow is not: a regular expression would run for years here", () => {
    const evil = compileTemplate(`x:${"{+a}{/c*}".repeat(16)}!`);
    expect(evil.matches(`x:${"/?".repeat(4000)}`)).toBe(false);
    expect(evil.matches(`x:${"/?".repeat(4000)}!`)).toBe(true);
  });

  it("with more expressions than anybody writes matches nothing but itself", () => {
    const text = `x:${"{a}".repeat(33)}`;
    expect(compileTemplate(text).matches("x:")).toBe(false);
    expect(compileTemplate(text).matches(text)).toBe(true);
  });
});
