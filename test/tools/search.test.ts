/** `npm run search`, against an API that answers with hostile records. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { ROOT } from "../../tools/paths.ts";

/** Escape, its one-character form, a line from the right, and a line feed. */
const STEERING = "\u001b[2J\u009b2J\u202e\n";

const RECORD = {
  EventTimestampMs: 0,
  ScriptName: `shop${STEERING}`,
  Outcome: STEERING,
  Logs: [{ Message: [STEERING] }],
};

it.each([[], ["--json"]])("shows a terminal nothing that it obeys (%j)", async (...options) => {
  const lines = [
    { type: "hit", job_id: 1, object: 1, line: 1, record: RECORD },
    { type: "end", complete: false, cursor: null, not_searched: [{ what: STEERING, why: STEERING }] },
  ];
  const server = createServer((_request, response) => {
    response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const env = { ...process.env, API: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, TOKEN: "t" };
  const search = spawn(process.execPath, [join(ROOT, "tools/search.ts"), "x", ...options], { env });
  const [out, errors, [code]] = await Promise.all([text(search.stdout), text(search.stderr), once(search, "close")]);
  server.close();
  expect(code).toBe(2);
  expect(out).toContain("shop");
  expect(errors).toContain("not searched");
  expect(`${out}${errors}`.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  if (options.length > 0) expect(JSON.parse(out)).toEqual(RECORD);
});
