import { later, laterClass } from "./grown.js";
import head, * as code from "./head/index.js";

export const ControlPlane = laterClass(code.ControlPlane);
export const TraceLog = laterClass(code.TraceLog);
export const JobReader = laterClass(code.JobReader);
export const AccessRegister = laterClass(code.AccessRegister);
export const Watch = laterClass(code.Watch);
export const Replays = laterClass(code.Replays);
export const Live = laterClass(code.Live);
export const Packer = laterClass(code.Packer);
export const SketchStore = laterClass(code.SketchStore);
export const Shipper = laterClass(code.Shipper);

export default {
  fetch: (request, env, ctx) => head.fetch(request, later(env), ctx),
  tail: (items, env, ctx) => head.tail(items, later(env), ctx),
  queue: (batch, env) => head.queue(batch, later(env)),
  scheduled: (controller, env) => head.scheduled(controller, later(env)),
};
