/** Jobs that ship to Azure Blob Storage, over the API. */
import { beforeEach, describe, expect, it } from "vitest";
import { azureConf } from "../../support/runtime/api.ts";
import { rule } from "../../support/s3-script.ts";
import { type Bucket, call, errorsOf, freshBucket, type Job } from "./harness.ts";

let container: Bucket;
beforeEach(() => {
  container = freshBucket();
});

const conf = (permissions?: string): string => azureConf(container.name, "logs/{DATE}", permissions);
const create = (destination_conf: string) => call<Job>("POST", "/logship/jobs", { name: "azure", destination_conf });
const put = (fields: object) => call<Job>("PUT", "/logship/jobs/1", fields);

describe("a job that ships to a container", () => {
  it("is created when a blob is written, and says what its SAS does not allow", async () => {
    const answer = await create(conf());
    expect([answer.status, answer.body.messages]).toEqual([201, []]);
    expect((await container.control.objects()).map(({ key }) => key)).toEqual(["logs/00010101/test.txt.gz"]);
    const notes = [
      [
        "w",
        "destination_conf: the SAS is write-only (sp without r): blobs are not verified after a lost answer, and there is no canary, reading or replay",
      ],
      ["rc", "destination_conf: the SAS may only create blobs (sp without w): there is no canary"],
    ] as const;
    for (const [permissions, message] of notes) {
      const changed = await put({ destination_conf: conf(permissions) });
      expect(changed.body.messages).toEqual([{ code: expect.any(Number), message }]);
      expect((await put({ name: "another" })).body.messages).toEqual([]);
    }
  });

  it("is not created with what cannot work, and nothing is sent then", async () => {
    expect(errorsOf(await create(conf().replace("2199-12-31", "2025-12-31")))).toMatchObject([
      [
        1004,
        "/destination_conf",
        expect.stringMatching(/error validating destination: the SAS has expired: its se is 2025/),
      ],
    ]);
    expect(await container.control.requests()).toEqual([]);
    await container.control.script([rule({ do: "answer", status: 404, code: "ContainerNotFound" })]);
    expect(errorsOf(await create(conf()))).toMatchObject([
      [expect.any(Number), "/destination_conf", expect.stringMatching(/HTTP 404 ContainerNotFound$/)],
    ]);
  });

  it("keeps a masked signature for the same container alone", async () => {
    await create(conf());
    const masked = conf().replace(/sig=.*/, "sig=****");
    expect((await put({ destination_conf: masked.replace("/logs/", "/other/") })).status).toBe(200);
    const objects = await container.control.objects();
    expect(objects.map(({ key }) => key)).toContain("other/00010101/test.txt.gz");
    const elsewhere = await put({ destination_conf: masked.replace(container.name, freshBucket().name) });
    expect([elsewhere.status, errorsOf(elsewhere)[0]?.[2]]).toEqual([
      400,
      expect.stringContaining("a masked secret is kept only for the same scheme, endpoint, account and bucket"),
    ]);
  });
});
