/**
 * No secret in any log line, nor in any answer except those that show it: secrets go in everywhere,
 * all output is searched.
 */
import { expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { TraceLog } from "../../../src/ship/log/trace-log.ts";
import { Attempts } from "../../../src/ship/reader/attempts.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { AccessRegister } from "../../../src/state/access/register.ts";
import { ControlPlane } from "../../../src/state/control/plane.ts";
import { ADMIN_TOKEN } from "../../support/constants.ts";
import { Oracle } from "../../support/oracle.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { deliver, NOON, pack, runAlarm, runCron, setClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { type CallOptions, call, freshBucket, intake, send } from "../../web/api/harness.ts";
import { bearer, member, pair, token } from "../../web/api/principals.ts";

const EVENTS = "/logship/datasets/functions_trace_events/events";

/** From the environment (vitest.config.ts) and from destinations. */
const SECRETS: Record<string, string> = {
  ADMIN_TOKEN,
  SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
  "the key of a destination": "test-secret-key",
  "another key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  "the same in a URL": "wJalrXUtnFEMI%2FK7MDENG%2FbPxRfiCYEXAMPLEKEY",
  "a key in DEST_OTHER": "cGxlYXNlIGtlZXAgdGhpcyBzZWNyZXQgZm9yIG1l",
  "a password in a URL": "hunter2-hunter2",
  "a bearer that is nobody's": "nobody-knows-this-bearer",
  "a challenge": "eyJ0b2tlbiI6ImEtY2hhbGxlbmdlLW9mLW1pbmUifQ",
  "a token in a webhook's path": "T0000-B0000-webhook-part",
};

const LEVELS = ["debug", "log", "info", "warn", "error", "trace"] as const;

/** A logged argument as text: errors have more than JSON shows. */
function shown(argument: unknown): string {
  if (argument instanceof Error) return `${argument.stack} ${argument.message} ${shown(argument.cause)}`;
  return typeof argument === "string" ? argument : (JSON.stringify(argument) ?? "");
}

function listen(): { written: string[]; objects: unknown[] } {
  const written: string[] = [];
  const objects: unknown[] = [];
  for (const level of LEVELS) {
    vi.spyOn(console, level).mockImplementation((...args: unknown[]) => {
      written.push(args.map(shown).join(" "));
      objects.push(args.length === 1 ? args[0] : args);
    });
  }
  return { written, objects };
}

function expectNone(texts: readonly string[], secrets: Readonly<Record<string, string>>): void {
  const found = texts.flatMap((text) =>
    Object.entries(secrets)
      .filter(([, secret]) => text.includes(secret))
      .map(([name]) => `${name}: ${text.slice(0, 300)}`),
  );
  expect(found).toEqual([]);
}

it("no secret is in any line, nor in any answer", async () => {
  const clock = setClock(NOON);
  const { written, objects } = listen();
  const ci = await token(["logs:read", "events:write"]);
  const editor = await token(["logs:edit"]);
  const ada = await member("Log Share Reader", "ada@example.com");
  const secrets = { ...SECRETS, "a token": ci.secret, "an editor's token": editor.secret, "an API key": ada.secret };
  const { "another key": key, "a password in a URL": password, "a challenge": challenge } = SECRETS;
  const bucket = freshBucket();
  const conf = destinationConf(bucket.name);
  const foreign = `s3://bucket/x?region=auto&endpoint=s3.example.com&access-key-id=AKIAIOSFODNN7EXAMPLE&secret-access-key=${encodeURIComponent(key ?? "")}`;
  const settings = {
    DEST_OTHER: JSON.stringify({
      host: "s3.example.com",
      access_key_id: "a",
      secret_access_key: SECRETS["a key in DEST_OTHER"],
    }),
    DEST_BROKEN: `{"secret_access_key": "${SECRETS["a key in DEST_OTHER"]}" ${key}`,
  };
  const texts: string[] = [];
  /** Sends a request and keeps the answer. */
  const ask = async <T>(method: string, path: string, body?: unknown, options: CallOptions = {}) => {
    const answer = await call<T>(method, path, body, { ...options, settings: { ...settings, ...options.settings } });
    texts.push(JSON.stringify([answer.body, [...answer.headers]]));
    return answer;
  };
  const events = JSON.stringify([new Oracle({ at: NOON }).mint(1)[0]?.event]);

  // Misplaced secrets: in paths, queries, headers, and bodies that are not JSON or have another
  // shape.
  for (const secret of Object.values(secrets)) {
    const part = encodeURIComponent(secret);
    for (const path of [
      `/logship/jobs/${part}`,
      `/tokens/${part}`,
      `/functions/scripts/${part}`,
      `/${part}`,
      `/logship/jobs?page=${part}`,
    ])
      await ask("GET", path);
    await ask("DELETE", `/tokens/${part}`);
    await ask("GET", `/logship/jobs/1/health?since=${part}`);
    await ask("GET", "/logship/jobs", undefined, {
      headers: bearer(secret === ADMIN_TOKEN ? `${secret}x` : `x${secret}`),
    });
    await ask("GET", "/logship/jobs", undefined, { headers: pair("ada@example.com", `x${secret}`) });
    await ask("GET", "/logship/jobs", undefined, {
      headers: { "x-request-id": secret, "cf-ray": secret, cookie: secret },
    });
    for (const body of [secret, `{"destination_conf":"${secret}`, `"${secret}"`, `[${secret}]`])
      await ask("POST", "/logship/jobs", body);
    await ask("POST", EVENTS, `[${secret}`, intake().options);
  }
  await send(`http://logship.test/nothing?token=${ci.secret}`, { method: "GET" });

  // Destinations that are refused, each for another reason.
  for (const bad of [
    `${foreign}&unknown=1`,
    foreign.replace("s3://", `https://user:${password}@`),
    foreign.replace("region=auto&", ""),
    foreign.replace("s3.example.com", `https%3A%2F%2Fuser%3A${password}%40s3.example.com`),
    `s3://b/x?region=auto&endpoint=${encodeURIComponent(`https://hooks.example.com/${SECRETS["a token in a webhook's path"]}`)}`,
    "s3://b/x?region=auto&endpoint=other.example.com&credentials=env:DEST_OTHER",
    "s3://b/x?region=auto&endpoint=s3.example.com&credentials=env:DEST_BROKEN",
  ]) {
    await ask("POST", "/logship/jobs", { destination_conf: bad, ownership_challenge: challenge });
    for (const path of ["/logship/validate/destination", "/logship/ownership", "/logship/validate/destination/exists"])
      await ask("POST", path, { destination_conf: bad });
    await ask("POST", "/logship/ownership/validate", { destination_conf: bad, ownership_challenge: challenge });
  }

  // A store that echoes everything, and one that is unreachable.
  const echo = { code: "AccessDenied", message: `${conf} Bearer ${ADMIN_TOKEN} ${key}` } as const;
  await bucket.control.script([rule({ do: "answer", status: 403, ...echo })]);
  await ask("POST", "/logship/jobs", { destination_conf: conf, enabled: true });
  await bucket.control.script([]);
  const made = await call<{ id: number }>("POST", "/logship/jobs", { destination_conf: conf, enabled: true });
  expect(made.status).toBe(201);
  const job = made.body.result.id;
  await ask("POST", EVENTS, events, { ...intake().options, headers: ci.headers });
  await deliver([...pack(new Oracle({ at: NOON }).mint(3), clock.nowMs())]);
  for (const then of [
    { do: "answer", status: 403, ...echo } as const,
    { do: "answer", status: 500, code: "InternalError", message: echo.message } as const,
    { do: "redirect", location: conf } as const,
  ]) {
    await bucket.control.script([rule(then)]);
    clock.advance(400_000);
    await runAlarm(job);
    await runCron();
  }
  const { fetch } = platform;
  vi.spyOn(platform, "fetch").mockImplementation((url) =>
    Promise.reject(new TypeError(`fetch failed: ${url} ${conf}`)),
  );
  clock.advance(400_000);
  await runAlarm(job);
  vi.mocked(platform.fetch).mockImplementation(fetch);
  for (const path of [
    `/logship/jobs/${job}`,
    `/logship/jobs/${job}/ledger`,
    "/logship/jobs",
    `/logship/jobs/${job}/objects`,
    `/logship/jobs/${job}/health`,
  ])
    await ask("GET", path, undefined, { headers: ci.headers });
  await ask("GET", "/logship/jobs", undefined, { headers: ada.headers });
  await ask("GET", "/logship/audit");
  await ask("GET", "/tokens");
  await ask("GET", "/members");

  // Internal failures that quote their input.
  const quoting = [
    `cannot load ${conf}`,
    `cannot load ${foreign}`,
    `https://user:${password}@hooks.example.com/${SECRETS["a token in a webhook's path"]} is down`,
    `Authorization: Bearer ${ADMIN_TOKEN} was refused`,
    `Bearer ${SECRETS["a bearer that is nobody's"]}`,
    `X-Auth-Key: ${ada.secret}`,
    `${ci.secret} is revoked`,
    `SECRETS_KEY=${SECRETS.SECRETS_KEY} does not open it`,
    `{"ownership_challenge":"${challenge}"}`,
    `Unexpected token 't', "{"key":"test-secret-key"" is not valid JSON`,
  ];
  for (const words of quoting) {
    const fail = (): never => {
      throw new Error(words);
    };
    const broken = [
      vi.spyOn(ControlPlane.prototype, "list").mockImplementation(fail),
      vi.spyOn(ControlPlane.prototype, "configSince").mockImplementation(fail),
      vi.spyOn(AccessRegister.prototype, "note").mockImplementation(fail),
      vi.spyOn(AccessRegister.prototype, "identify").mockImplementation(fail),
      vi.spyOn(JobReader.prototype, "status").mockImplementation(fail),
      vi.spyOn(Attempts.prototype, "put").mockImplementation(fail),
      vi.spyOn(JobReader.prototype, "pull").mockImplementation(fail),
      vi.spyOn(TraceLog.prototype, "append").mockImplementation(fail),
      vi.spyOn(JobReader.prototype, "drive").mockImplementation(fail),
    ];
    await ask("GET", "/logship/jobs");
    await ask("GET", `/logship/jobs/${job}`, undefined, { headers: ci.headers });
    await ask("PUT", `/logship/jobs/${job}`, { name: "x" }, { headers: editor.headers });
    await ask("DELETE", "/tokens/nobody");
    const queue = { ...intake().queue, sendBatch: () => Promise.reject(new Error(words)) };
    await ask("POST", EVENTS, events, { settings: { EVENTS: queue } });
    await deliver(pack(new Oracle({ at: NOON }).mint(1), clock.nowMs()));
    clock.advance(400_000);
    await runAlarm(job);
    await runCron().catch(() => {});
    for (const each of broken) each.mockRestore();
  }

  const said = new Set(objects.map((line) => (line as { message?: string }).message));
  // Each kind of line and failure occurred.
  for (const message of [
    "request",
    "batch",
    "upload",
    "upload broke",
    "request failed",
    "an append failed",
    "a scheduled chore failed",
    "the queue did not take events; they go to the log",
    "the access register did not identify a caller",
    "the control plane failed; the last good configuration is used",
  ])
    expect([...said]).toContain(message);
  expect(objects.filter((line) => typeof line !== "object" || Array.isArray(line))).toEqual([]);
  expectNone(written, { ...secrets, "an address": "ada@example.com" });
  // The lines still name the failure.
  expect(written.join("\n")).toContain("Error: cannot load s3://");
  expectNone(texts, secrets);
}, 60_000);
