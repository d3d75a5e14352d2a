import type { AccountLedger } from "./control/ledger.ts";
import { accountLedger } from "./control/ledger.ts";
import type { ControlPlane } from "./control/plane.ts";
import { controlPlane } from "./control/plane.ts";
import { driveChain, segmentOf } from "./delivery/chain.ts";
import type { DeliveryLog } from "./delivery/log.ts";

/** How long the handler waits for uploads, in ms; what is left goes on by the alarms. */
const WAIT_MS = 20_000;

export interface ScheduledContext {
  CONTROL: DurableObjectNamespace<ControlPlane>;
  LOG: DurableObjectNamespace<DeliveryLog>;
  ACCOUNT: DurableObjectNamespace<AccountLedger>;
}

/**
 * The second clock beside the alarms: cuts and uploads all that waits, for every job, disabled and draining ones included. Each log is driven on
 * its own; one that fails delays no other.
 */
export async function handleScheduled({ CONTROL, LOG, ACCOUNT }: ScheduledContext): Promise<void> {
  const control = controlPlane(CONTROL);
  const [jobs, draining] = await Promise.all([control.list(), control.draining()]);
  const ids = [...jobs.map(({ config }) => config.id), ...draining.map(({ id }) => id)];
  const driven = await Promise.allSettled(ids.map((id) => driveChain(LOG, id, "scheduled", WAIT_MS)));
  driven.forEach((result, i) => {
    if (result.status === "rejected")
      console.error({ message: "a log could not be driven", job: ids[i], error: String(result.reason) });
  });
  for (const { id } of draining) await retireChain(LOG, control, id);
  await accountLedger(ACCOUNT).sweep();
}

/** Deletes the log of a job that was deleted long ago, last segment first, and then forgets the job. */
async function retireChain(
  logs: DurableObjectNamespace<DeliveryLog>,
  control: DurableObjectStub<ControlPlane>,
  id: number,
): Promise<void> {
  let last = 0;
  while ((await segmentOf(logs, id, last).status())?.sealed) last += 1;
  for (let segment = last; segment >= 0; segment--) if (!(await segmentOf(logs, id, segment).retire())) return;
  await control.forget(id);
}
