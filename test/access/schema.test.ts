import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { accessRegister } from "../../src/access/register.ts";
import { ACCESS_STEPS } from "../../src/access/schema.ts";
import { migrate } from "../../src/storage/migrate.ts";

it("the release in test/fixtures/release, which knows three steps, works with what newer ones left, and writes it alike", async () => {
  await runInDurableObject(accessRegister(env.ACCESS), (register, { storage }) => {
    register.tokens();
    expect(migrate(storage, ACCESS_STEPS.slice(0, 3))).toBe(0);
    const hash = new Uint8Array(32).fill(9);
    // As that release writes them.
    storage.sql.exec(
      "INSERT INTO token (id, name, permissions, locator, hash, expires_on, expires_ms, created_ms) VALUES ('1', 'x', '[\"logs:read\"]', ?, ?, NULL, NULL, 0)",
      ...[hash.slice(0, 6).reduce((value, byte) => value * 256 + byte, 0), hash.buffer],
    );
    storage.sql.exec(
      "INSERT INTO member (id, email, email_key, role, hash, created_ms, modified_ms) VALUES ('2', 'A@b.example', 'a@b.example', 'Log Share', ?, 0, 0)",
      hash.buffer,
    );
    expect(register.identify({ kind: "token", hash }, ["key"])).toMatchObject({ known: { id: "1" }, doubtful: true });
    expect(register.identify({ kind: "key", email: "a@b.example", hash })).toMatchObject({ known: { id: "2" } });
    expect(register.copy()?.map(({ checkedBy }) => checkedBy)).toEqual([null, null]);
  });
});
