import { isolateAudience } from "./intake/audience.ts";
import { isolateMemory } from "./memory.ts";
import { createWorker } from "./worker.ts";

export { AccessRegister } from "./access/register.ts";
export { ControlPlane } from "./control/plane.ts";
export { JobReader } from "./delivery/job-reader.ts";
export { Packer } from "./intake/packer.ts";
export { Shipper } from "./intake/shipper.ts";
export { Live } from "./live/live.ts";
export { LocalFunctions } from "./local/local-functions.ts";
export { Replays } from "./replay/replays.ts";
export { SketchStore } from "./sketch/sketch-store.ts";
export { Watch } from "./status/watch.ts";
export { TraceLog } from "./trace-log/trace-log.ts";

export default createWorker(isolateMemory, isolateAudience);
