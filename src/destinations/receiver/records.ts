import type { SentRecord } from "./receiver.ts";

/** ScriptName of what tests a receiver: a search finds, and leaves out, what was sent to try it. */
const TEST_SCRIPT = "logship-test";

/** A record that shows whether a receiver can be written to, in NDJSON. */
export function testLine(nowMs: number): string {
  return JSON.stringify({
    EventTimestampMs: nowMs,
    EventType: "unknown",
    Outcome: "ok",
    ScriptName: TEST_SCRIPT,
    Logs: [{ Level: "info", Message: ["logship tests whether it can write here"], TimestampMs: nowMs }],
  });
}

/** A record with its time as RFC 3339 before its own fields. */
export function withTime({ line, timeMs }: SentRecord, name: string): string {
  return withFirst(line, `"${name}":"${new Date(timeMs).toISOString()}"`);
}

/** A JSON object with another member before its own. @param member its JSON, name and value. */
export function withFirst(line: string, member: string): string {
  const rest = line.slice(line.indexOf("{") + 1);
  return rest.trim() === "}" ? `{${member}}` : `{${member},${rest}`;
}
