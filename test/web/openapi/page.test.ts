import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { scriptPath } from "../../../src/web/dashboard/assets.ts";
import { renderPage, STYLE, STYLE_HASH } from "../../../src/web/openapi/page/page.tsx";
import { DOCUMENT, OPERATIONS } from "./support.ts";

/** One element of the parsed page. */
interface Element {
  tag: string;
  attributes: { [name: string]: string };
  /** Its text, including that of its children. */
  text: string;
}

async function elementsOf(html: string): Promise<Element[]> {
  const elements: Element[] = [];
  const open: Element[] = [];
  const rewriter = new HTMLRewriter()
    .on("*", {
      element(element) {
        const one = { tag: element.tagName, attributes: Object.fromEntries(element.attributes), text: "" };
        elements.push(one);
        if (["meta", "br", "link", "img", "input", "rect", "path"].includes(one.tag)) return;
        open.push(one);
        element.onEndTag(({ name }) => {
          // Every element is closed, in order.
          expect(open.pop()?.tag).toBe(name);
        });
      },
    })
    .onDocument({
      text({ text }) {
        for (const element of open) element.text += text;
      },
    });
  await rewriter.transform(new Response(html)).arrayBuffer();
  expect(open).toEqual([]);
  return elements;
}

const decoded = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

const HTML = renderPage(DOCUMENT);
const PAGE = await elementsOf(HTML);
const all = (...tags: string[]) => PAGE.filter(({ tag }) => tags.includes(tag));

describe("the page", () => {
  it("has every operation, under every name, with what it needs", () => {
    const codes = all("code").map(({ text }) => decoded(text).trim());
    for (const { method, path, operation } of OPERATIONS) {
      expect(codes).toContain(`${method} ${path}`);
      const section = PAGE.find(({ attributes }) => attributes.id === operation.operationId);
      expect([operation.operationId, section?.tag]).toEqual([
        operation.operationId,
        operation["x-alias-of"] === undefined ? "section" : "p",
      ]);
      if (operation["x-alias-of"] !== undefined) continue;
      const text = decoded(section?.text ?? "");
      expect(text).toContain(operation.summary);
      const permission = operation["x-permission"];
      expect(text).toContain(permission === undefined ? "Needs any known" : `Needs the permission ${permission}.`);
      for (const { source } of operation["x-codeSamples"]) expect(text).toContain(source);
      for (const { name } of operation.parameters) expect(text).toContain(name);
      for (const status of Object.keys(operation.responses)) expect(text).toContain(status);
    }
  });

  it("shows the fields of bodies, with types, bounds and meaning", () => {
    const text = decoded(PAGE.find(({ attributes }) => attributes.id === "postLogshipJobs")?.text ?? "");
    for (const said of [
      "max_upload_interval_seconds",
      "integer, 0 or 30 to 300, or null",
      "boolean, or null",
      "string, not empty, at most 4096 characters",
      "longest time from a record's intake until its object is cut",
    ])
      expect(text).toContain(said);
    for (const name of Object.keys(DOCUMENT.components.schemas))
      expect(PAGE.map(({ attributes }) => attributes.id)).toContain(`schema-${name}`);
    const options = decoded(PAGE.find(({ attributes }) => attributes.id === "schema-OutputOptions")?.text ?? "");
    expect(options).toContain("number, more than 0, at most 1, or null");
  });

  it("has one heading of the first level, and skips none", () => {
    const levels = all("h1", "h2", "h3", "h4", "h5", "h6").map(({ tag }) => Number(tag.slice(1)));
    expect(levels.filter((level) => level === 1)).toEqual([1]);
    expect(levels[0]).toBe(1);
    for (const [i, level] of levels.entries()) expect(level).toBeLessThanOrEqual((levels[i - 1] ?? 0) + 1);
  });

  it("has a language, a title, its landmarks once, and a way past the contents", () => {
    expect(all("html")[0]?.attributes.lang).toBe("en");
    expect(all("title").map(({ text }) => text)).toEqual(["logship API"]);
    expect(["header", "nav", "main"].map((tag) => all(tag).length)).toEqual([1, 1, 1]);
    expect(all("a")[0]?.attributes).toEqual({ class: "skip", href: "#main" });
    expect(all("meta").map(({ attributes }) => attributes.name)).toContain("viewport");
  });

  it("has each id once, and links to nothing that is not there", () => {
    const ids = PAGE.flatMap(({ attributes: { id } }) => (id === undefined ? [] : [id]));
    expect(new Set(ids).size).toBe(ids.length);
    const links = all("a").map(({ attributes }) => attributes.href ?? "");
    const inner = links.filter((href) => href.startsWith("#")).map((href) => href.slice(1));
    expect(ids).toEqual(expect.arrayContaining(inner));
    // The dashboard, by its mark and in words; and the document.
    expect(links.filter((href) => !href.startsWith("#"))).toEqual(["/", "/", "/openapi.json"]);
    const labels = PAGE.flatMap(({ attributes }) => attributes["aria-labelledby"]?.split(" ") ?? []);
    expect(ids).toEqual(expect.arrayContaining(labels));
  });

  it("names every column and row of its tables", () => {
    for (const { attributes } of all("th")) expect(["col", "row"]).toContain(attributes.scope);
    expect(all("caption").length).toBe(all("table").length);
  });

  it("loads one script, which it does not need, and no frame, image or style but the one that is let in", () => {
    const quiet =
      "html head meta title style script body a header h1 h2 h3 h4 p nav ul li main section code table caption thead";
    const known = new Set([
      ...quiet.split(" "),
      ..."tr th td tbody strong span figure figcaption pre details summary label input svg rect path".split(" "),
    ]);
    expect(PAGE.filter(({ tag }) => !known.has(tag))).toEqual([]);
    for (const { tag, attributes } of PAGE)
      for (const name of Object.keys(attributes))
        if (tag !== "script") expect(name).not.toMatch(/^(on.*|style|src|srcset|action)$/);
    expect(all("script")).toEqual([
      { tag: "script", attributes: { type: "module", src: scriptPath("docs") }, text: "" },
    ]);
    // What the script is for is hidden until it runs.
    expect(all("nav")[0]?.text).toContain("Search this page");
    expect(
      all("p")
        .filter(({ attributes }) => "hidden" in attributes)
        .map(({ text }) => text),
    ).toEqual(["Search this page"]);
    expect(all("style").map(({ text }) => text)).toEqual([STYLE]);
    expect(STYLE_HASH).toBe(`sha256-${createHash("sha256").update(STYLE).digest("base64")}`);
    expect(STYLE).not.toMatch(/url\(|@import|</);
  });

  it("shows its entries closed: each opens, and a link to one shows all of it", () => {
    const entries = PAGE.filter(({ tag, attributes }) => tag === "section" && attributes.id !== undefined);
    expect(all("details").length).toBe(entries.length);
    expect(all("details").filter(({ attributes }) => "open" in attributes)).toEqual([]);
    expect(STYLE).toContain(":target>details:not([open])::details-content{content-visibility:visible;block-size:auto}");
  });

  it("has a style for what is there, and leaves examples the width of a phone", () => {
    const [style] = all("style");
    const used = new Set(PAGE.flatMap(({ attributes }) => (attributes.class ?? "").split(" ")));
    const styled = [...(style?.text ?? "").matchAll(/\.([a-z]+)[{: ,]/g)].map(([, name = ""]) => name);
    expect(styled).toEqual(expect.arrayContaining(["fields", "skip", "path"]));
    expect(styled.filter((name) => !used.has(name))).toEqual([]);
    // Browsers indent a figure by 40 px on both sides.
    expect(style?.text).toMatch(/\bfigure\{margin:\S+ 0\}/);
  });

  it("lets whoever has no mouse scroll what is too wide", () => {
    for (const { attributes } of all("pre")) expect(attributes.tabindex).toBe("0");
  });

  it("shows a text with marks of HTML as it is", async () => {
    const evil = `<script>alert("x")</script>&amp;<b onclick='y'>\`<i>\` **<u>**`;
    const marked = JSON.parse(JSON.stringify(DOCUMENT)) as typeof DOCUMENT;
    marked.info.summary = marked.info.description = evil;
    for (const tag of marked.tags) tag.description = evil;
    for (const answer of Object.values(marked.components.responses)) answer.description = evil;
    for (const schema of Object.values(marked.components.schemas)) {
      schema.description = evil;
      schema.properties = { ...schema.properties, [evil]: { enum: [evil], default: evil, description: evil } };
    }
    for (const methods of Object.values(marked.paths)) {
      for (const operation of Object.values(methods)) {
        operation.summary = operation.description = evil;
        operation["x-codeSamples"] = [{ lang: "Shell", label: evil, source: evil }];
        for (const parameter of operation.parameters) parameter.description = evil;
      }
    }
    const elements = await elementsOf(renderPage(marked));
    expect(elements.filter(({ tag }) => ["b", "i", "u"].includes(tag))).toEqual([]);
    expect(elements.filter(({ tag }) => tag === "script").map(({ text }) => text)).toEqual([""]);
    expect(elements.filter(({ tag, text }) => tag === "h3" && decoded(text) === evil).length).toBeGreaterThan(20);
    expect(elements.filter(({ tag, text }) => tag === "figcaption" && decoded(text) === evil).length).toBeGreaterThan(
      20,
    );
  });
});

describe("its colours", () => {
  /** WCAG 2.2, relative luminance. */
  const luminance = (hex: string): number => {
    const digits = hex.length === 3 ? [...hex].map((digit) => digit + digit) : (hex.match(/../g) ?? []);
    const [r = 0, g = 0, b = 0] = digits
      .map((pair) => Number.parseInt(pair, 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const schemes = [0, 1].map((scheme) =>
    Object.fromEntries(
      [...STYLE.matchAll(/--([\w-]+):light-dark\(#([0-9a-f]+),\s?#([0-9a-f]+)\)/g)].map(([, name = "", ...hexes]) => [
        name,
        luminance(hexes[scheme] ?? ""),
      ]),
    ),
  );

  it.each([0, 1])("of a text have the contrast of the dashboard with what it stands on: scheme %i of 2", (i) => {
    const { ground = 0, surface = 0, sunken = 0, ...others } = schemes[i] ?? {};
    for (const name of ["text", "accent", "quiet"]) {
      for (const behind of [ground, surface, sunken]) {
        const [light = 0, dark = 0] = [others[name] ?? Number.NaN, behind].sort((a, b) => b - a);
        expect([name, (light + 0.05) / (dark + 0.05) >= 4.5]).toEqual([name, true]);
      }
    }
  });
});
