/**
 * A stored secret stays with the address that it was stored for, whichever kind it is of, and
 * whatever asks for another one: the API, a form, a test, a replay. Made from the lists of kinds,
 * so that a new one is in it.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { FORMAT, FORMATS } from "../../../src/operate/alerts/alert-formats.ts";
import { entryOf, fieldsOf, requireForm } from "../../../src/ship/destinations/entry.ts";
import { isMasked, maskDestination, parsePlace, sameStore } from "../../../src/ship/destinations/parse.ts";
import { type Receiver, receiver, URL_OF_RECEIVER, type Webhook } from "../../operate/alerts/receiver.ts";
import { verify } from "../../operate/alerts/verify.ts";
import { PRODUCTION } from "../../ship/destinations/context.ts";
import { FIXTURES, SECRETS } from "../../ship/destinations/kinds.ts";
import { RECEIVERS, type ReceiverFixture } from "../../ship/destinations/receivers.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { untouched } from "../dashboard/browser-form.ts";
import { Visitor } from "../dashboard/support.ts";
import { call, errorsOf, type Job } from "./harness.ts";

const settings = { ALLOW_LOOPBACK_DESTINATIONS: "false", OBJSTORE_ENDPOINT: "" };
const EVIL = "evil.example";

let clock: ReturnType<typeof setClock>;
beforeEach(() => {
  clock = setClock(NOON);
});

/** Other addresses: of another host, port and path, and of a host whose name only begins alike. */
function movesOf(url: string): string[] {
  const { hostname, pathname } = new URL(url);
  const hosts = [EVIL, `${hostname}:8443`, `${hostname}.${EVIL}`];
  return [...hosts.map((host) => `https://${host}${pathname}`), `https://${hostname}/${EVIL}${pathname}`];
}

describe.each(FORMATS.filter((format) => FORMAT[format].key !== null))("the key of %s", (format) => {
  const [key, other] = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"];
  const address = FORMAT[format].url ?? "";
  let post: Receiver;
  let id: number;
  beforeEach(async () => {
    post = receiver();
    const body = { name: "pager", format, secret: key };
    id = (await call<{ id: number }>("POST", "/logship/alerts", body, { settings })).body.result.id;
  });
  const put = (body: object) => call("PUT", `/logship/alerts/${id}`, body, { settings });
  const sent = async () => {
    clock.advance(5_000);
    await call("POST", `/logship/alerts/${id}/test`, undefined, { settings, platform });
    return post.calls.splice(0).map(({ url, raw, headers }) => ({ url, text: raw + headers.get("authorization") }));
  };

  it.each(movesOf(address))("is not sent to %s, but comes with it anew", async (moved) => {
    for (const body of [{ address: moved }, { address: moved, secret: "" }])
      expect([(await put(body)).status, errorsOf(await put(body))[0]?.[1]]).toEqual([400, "/secret"]);
    const visitor = await Visitor.signedIn(undefined, { settings });
    const form = { name: "pager", address: moved, secret: "", enabled: "on" };
    expect((await visitor.submit(`/alerts/${id}`, form)).status).toBe(400);
    for (const { url } of await sent()) expect(url.startsWith(address)).toBe(true);
    expect((await put({ address: moved, secret: other })).status).toBe(200);
    const calls = await sent();
    expect(calls.length).toBeGreaterThan(0);
    for (const { url, text } of calls)
      expect([url.startsWith(moved), text.includes(key), text.includes(other)]).toEqual([true, false, true]);
    // Nor does it come back with the first address.
    expect((await put({ address })).status).toBe(400);
  });

  it("is kept where the address is sent as it was shown, or as it was, or not at all", async () => {
    for (const body of [{}, { address }, { address: `${new URL(address).origin}/****` }, { address: `${address}?a=b` }])
      expect((await put({ ...body, name: "other" })).status).toBe(200);
    expect((await sent()).every(({ text }) => text.includes(key))).toBe(true);
  });
});

describe("the webhook's secret", () => {
  const put = (url: string) => call<Webhook>("PUT", "/logship/webhook", { url }, { settings });

  it.each(movesOf(URL_OF_RECEIVER))("signs nothing for %s, which gets one of its own", async (moved) => {
    const post = receiver();
    const sent = async () => {
      clock.advance(5_000);
      await call("POST", "/logship/webhook/test", undefined, { settings, platform });
      return post.calls.splice(0);
    };
    const byForm = async (url: string) => {
      const visitor = await Visitor.signedIn(undefined, { settings });
      const { html } = await visitor.submit("/alerts/webhook", { url, enabled: "on" });
      return /whsec_[\w+/]{43}=/.exec(html)?.[0];
    };
    const first = (await put(URL_OF_RECEIVER)).body.result.secret ?? "";
    for (const move of [async () => (await put(moved)).body.result.secret, () => byForm(moved)]) {
      await put(URL_OF_RECEIVER);
      const fresh = (await move()) ?? "";
      expect(fresh).toMatch(/^whsec_/);
      const [at] = await sent();
      if (at === undefined) throw new Error("nothing was sent");
      expect(at.url).toBe(moved);
      expect([await verify(at.headers, at.raw, first), await verify(at.headers, at.raw, fresh)]).toEqual([false, true]);
    }
  });
});

/** With secrets under names that no kind knows. */
const unusual = {
  ...(RECEIVERS.https as ReceiverFixture),
  conf: `https://logs.example/in?lic=${SECRETS[0]}&${SECRETS[1]}`,
};
const CONFS = Object.entries({ ...FIXTURES, ...RECEIVERS, unusual }).flatMap(([name, { conf: given, service }]) => {
  // It must not have expired.
  const conf = given.replace("se=2031", "se=2199");
  return maskDestination(conf) === conf ? [] : [{ name, conf, service }];
});

describe.each(CONFS)("the secrets of a destination: $name", ({ conf, service }) => {
  const requests: string[] = [];
  const stored = async (): Promise<string> =>
    String((await call<Job>("GET", "/logship/jobs/1", undefined, { settings })).body.result.destination_conf);
  beforeEach(async () => {
    const { fetch } = service();
    vi.spyOn(platform, "fetch").mockImplementation(async (url, init) => {
      requests.push(`${url} ${JSON.stringify([...new Headers(init.headers)])}`);
      return fetch(url, init);
    });
    expect(errorsOf(await call("POST", "/logship/jobs", { destination_conf: conf }, { settings }))).toEqual([]);
    requests.length = 0;
  });

  /** Each way to lead elsewhere, by host, port, path, bucket and account. */
  const moves = (text: string): string[] => {
    const [, scheme = "", authority = "", rest = ""] = /^([a-z0-9]+):\/\/([^/?]+)(.*)$/.exec(text) ?? [];
    return [
      `${scheme}://${/^[^.:]+$/.test(authority) ? "others" : EVIL}${rest}`,
      ...(scheme in RECEIVERS ? [`${scheme}://${authority}/${EVIL}${rest}`, `https://${EVIL}${rest}`] : []),
      ...(scheme === "s3" ? [text.replace(/endpoint=[^&]*|region=eu-west-1/, `region=auto&endpoint=${EVIL}`)] : []),
      ...(scheme === "gs" ? [`${text}&endpoint=storage.me-central2.rep.googleapis.com`] : []),
      ...(/account-id/.test(text) ? [text.replace("account-id=a1", "account-id=a2")] : []),
    ].filter((move) => move !== text && isMasked(move));
  };
  /** The secrets masked, all of them, and each by itself. */
  const masked = [maskDestination(conf), ...SECRETS.map((secret) => conf.replace(secret, "****"))].filter(isMasked);

  it("follow no other address, in no route", async () => {
    const span = { since: "2026-11-20T00:00:00Z", until: "2026-11-20T01:00:00Z" };
    for (const destination_conf of masked.flatMap(moves)) {
      const to = { destination_conf };
      for (const [method, path, body] of [
        ["PUT", "/jobs/1", to],
        ["POST", "/jobs", to],
        ["POST", "/jobs/1/replay", { ...span, ...to }],
        ["POST", "/jobs/1/rerun", { ...span, ...to }],
        ["POST", "/set-aside/object-1-1/resend", to],
      ] as const) {
        const { status } = await call(method, `/logship${path}`, body, { settings });
        expect([destination_conf, path, status]).toEqual([destination_conf, path, 400]);
      }
      const valid = await call("POST", "/logship/validate/destination", to, { settings });
      expect(valid.body.result).toMatchObject({ valid: false });
      const preview = await call("POST", "/logship/preview", { ...to, events: [{}] }, { settings });
      for (const secret of SECRETS) expect(JSON.stringify(preview.body)).not.toContain(secret);
    }
    expect([requests, await stored()]).toEqual([[], conf]);
  });

  it("follow no field of the form", async () => {
    const entry = entryOf(conf, PRODUCTION);
    const place = parsePlace(conf, PRODUCTION);
    if (!entry.ok || !place.ok) throw new Error("no destination");
    const visitor = await Visitor.signedIn(undefined, { settings });
    for (const { name, isSecret } of fieldsOf(requireForm(entry.value))) {
      if (isSecret === true) continue;
      for (const text of [EVIL, `https://${EVIL}`, "others", `https://${EVIL}/in?team=a`]) {
        const form = untouched((await visitor.get("/jobs/1/edit")).html, "/jobs/1/edit");
        form.set(`destination-${name}`, text);
        for (const button of ["test", "preview", "save"]) {
          form.set("do", button);
          await visitor.submit("/jobs/1/edit", form);
        }
        const after = await stored();
        const there = parsePlace(after, PRODUCTION);
        if (there.ok && sameStore(there.value, place.value)) continue;
        for (const secret of SECRETS) expect(after).not.toContain(secret);
        await call("PUT", "/logship/jobs/1", { destination_conf: conf }, { settings });
      }
    }
    for (const request of requests)
      if (new URL(request.split(" ")[0] ?? "").hostname.endsWith(EVIL))
        for (const secret of SECRETS) expect(request).not.toContain(secret);
  });
});
