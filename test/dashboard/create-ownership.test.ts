import { describe, expect, it } from "vitest";
import { listJobs } from "../api/harness.ts";
import { type Action, rule } from "../support/s3-script.ts";
import { Creator, s3Form } from "./creating.ts";
import { textOf } from "./support.ts";

const REQUIRED = { settings: { REQUIRE_OWNERSHIP_CHALLENGE: "true" } };

/** A draft at the ownership step. */
async function atOwnership(options: object = REQUIRED): Promise<Creator> {
  const creator = await Creator.begin(options);
  await creator.chooseBucket();
  await creator.send("records");
  await creator.send("output");
  expect(await creator.pass("preview")).toBe("ownership");
  return creator;
}

/** The token, as the bucket's owner reads it. */
async function tokenIn({ bucket }: Creator): Promise<{ key: string; token: string }> {
  const found = (await bucket.control.objects()).filter(({ key }) => key.includes("ownership-challenge"));
  const key = found.at(-1)?.key ?? "";
  return { key, token: new TextDecoder().decode(await bucket.control.object(key)) };
}

describe("the proof that a bucket can be read", () => {
  it("is required where the deployment says so, and a pasted token is one", async () => {
    const creator = await atOwnership();
    const before = await creator.get("ownership");
    expect(textOf(before.html)).toContain("Required by this deployment");
    expect(before.html).not.toContain('value="skip"');
    expect((await creator.post("ownership", { do: "skip" })).status).toBe(200);
    expect((await creator.get("finish")).location).toBe(`${creator.base}/ownership`);
    expect(await creator.pass("ownership", { do: "write" })).toBe("ownership");
    const { key, token } = await tokenIn(creator);
    const page = textOf((await creator.get("ownership")).html);
    expect(page).toContain(key);
    expect(page).toContain(creator.bucket.name);
    for (const wrong of [`${token}x`, "", "1.9999999999.x", "t".repeat(5_000), "<script>alert(1)</script>"]) {
      const refused = await creator.post("ownership", { do: "check", token: wrong });
      expect([refused.status, textOf(refused.html)]).toEqual([
        400,
        expect.stringContaining("Incorrect ownership challenge"),
      ]);
      expect(textOf(refused.html)).toContain("1002");
      expect(refused.html).not.toContain("alert(1)");
    }
    expect(await creator.pass("ownership", { do: "check", token: `  ${token}\n` })).toBe("finish");
    expect((await creator.post("finish")).status).toBe(303);
    expect(await listJobs()).toHaveLength(1);
  });

  it("is read back with the draft's own keys", async () => {
    const creator = await atOwnership();
    await creator.pass("ownership", { do: "write" });
    expect(await creator.pass("ownership", { do: "read" })).toBe("finish");
    expect(textOf((await creator.get("finish")).html)).toContain("Ownership is verified");
    expect((await creator.post("finish")).status).toBe(303);
  });

  const failures: [name: string, action: Action, words: string][] = [
    ["keys that may only write", { do: "answer", status: 403, code: "AccessDenied" }, "may write but not read"],
    ["an object that is gone", { do: "answer", status: 404, code: "NoSuchKey" }, "is gone"],
    ["a store that fails", { do: "answer", status: 500 }, "did not send it"],
    ["a redirect", { do: "redirect", location: "http://elsewhere.example/" }, "did not send it"],
    ["a connection that breaks", { do: "reset", when: "before" }, "did not send it"],
    ["an object without end", { do: "answer", status: 200, body: "x".repeat(5_000) }, "larger than a token"],
    ["another object", { do: "answer", status: 200, body: "<b>not a token</b>" }, "Incorrect ownership challenge"],
  ];

  it.each(failures)("is not read back of %s, in words", async (_name, action, words) => {
    const creator = await atOwnership();
    await creator.pass("ownership", { do: "write" });
    const { token } = await tokenIn(creator);
    await creator.bucket.control.script([rule(action, { method: "GET" })]);
    const failed = await creator.post("ownership", { do: "read" });
    expect([failed.status, textOf(failed.html)]).toEqual([400, expect.stringContaining(words)]);
    expect(failed.html).not.toContain("not a token");
    expect((await creator.get("finish")).location).toBe(`${creator.base}/ownership`);
    expect(await creator.pass("ownership", { do: "check", token })).toBe("finish");
  });

  it("may be left out with one click where nobody asks for it", async () => {
    const creator = await atOwnership({});
    expect(textOf((await creator.get("ownership")).html)).toContain("Optional in this deployment");
    expect(await creator.pass("ownership", { do: "skip" })).toBe("finish");
  });

  it("is one of the place it was written to: another path needs another one", async () => {
    const creator = await atOwnership();
    await creator.pass("ownership", { do: "write" });
    await creator.pass("ownership", { do: "read" });
    await creator.post("destination", s3Form(creator.bucket.name, { path: "elsewhere/{DATE}" }));
    expect((await creator.get("finish")).location).toBe(`${creator.base}/ownership`);
    expect(textOf((await creator.get("ownership")).html)).not.toContain("Verified");
    // New keys for the same place keep the proof.
    await creator.pass("ownership", { do: "write" });
    await creator.pass("ownership", { do: "read" });
    const env = { credentials: "env", secret_name: "DEST_TEST", path: "elsewhere/{DATE}" };
    await creator.post("destination", s3Form(creator.bucket.name, env));
    expect((await creator.get("finish")).status).toBe(200);
  });

  it("cannot be written into a bucket that takes nothing", async () => {
    const creator = await atOwnership();
    await creator.bucket.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "PUT" })]);
    const failed = await creator.post("ownership", { do: "write" });
    expect([failed.status, textOf(failed.html)]).toEqual([
      400,
      expect.stringContaining("The token could not be written"),
    ]);
    expect(textOf(failed.html)).toContain("HTTP 403 AccessDenied");
  });
});
