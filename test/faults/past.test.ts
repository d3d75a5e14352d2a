import { expect } from "vitest";
import { api } from "../support/runtime/api.ts";
import { row } from "./row.ts";

row("tries the past", async (world) => {
  await world.take(world.mint(30), 3);
  await world.deliverDue();
  world.clock.advance(900_000);
  const sinceMs = world.clock.nowMs();
  const events = world.mint(40);
  await world.take(events, 4);
  await world.deliverDue();
  world.clock.advance(2_700_000);
  const job = await world.createJob({ fields: { enabled: true, since: new Date(sinceMs).toISOString() } });
  world.jobs.owes(job, events);
  await world.settle();
  await world.audit();
  const span = { since: new Date(sinceMs).toISOString(), until: new Date(world.clock.nowMs()).toISOString() };
  const begun = await api<{ id: string }>("POST", `/logship/jobs/${job.id}/rerun`, span);
  console.log(begun.status, JSON.stringify(begun.body));
  for (let i = 0; i < 4; i++) {
    world.clock.advance(60_000);
    await world.runCron();
  }
  const read = await api("GET", `/logship/jobs/${job.id}/replay/${begun.body.result.id}`);
  console.log(JSON.stringify(read.body));
  const contents = await job.buckets[0]!.control.contents();
  console.log(contents.map(({ key }) => key));
  console.log(JSON.stringify((await api("GET", `/logship/jobs/${job.id}/ledger`)).body));
  console.log(JSON.stringify((await api("GET", `/logship/ledger`)).body));
  console.log(JSON.stringify((await api("GET", `/logship/status`)).body));
  expect(1).toBe(1);
});
