import { isolateMemory } from "./base/memory.ts";
import { isolateViewers } from "./ship/intake/viewers.ts";
import { createWorker } from "./worker.ts";

export { SketchStore } from "./formats/sketch/sketch-store.ts";
export { Watch } from "./operate/alerts/watch.ts";
export { Live } from "./operate/live/live.ts";
export { Replays } from "./operate/replay/replays.ts";
export { Packer } from "./ship/intake/packer.ts";
export { Shipper } from "./ship/intake/shipper.ts";
export { TraceLog } from "./ship/log/trace-log.ts";
export { JobReader } from "./ship/reader/job-reader.ts";
export { AccessRegister } from "./state/access/register.ts";
export { ControlPlane } from "./state/control/plane.ts";
export { LocalFunctions } from "./state/local/local-functions.ts";

export default createWorker(isolateMemory, isolateViewers);
