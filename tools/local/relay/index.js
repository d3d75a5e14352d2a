/**
 * The tail consumer of a Worker that `npm run attach -- … --local` runs: the local runtime does not
 * name the Worker in its trace events. It runs beside that Worker as it is, unbuilt.
 */
export default {
  async tail(items, env) {
    // The runtime's own objects cannot be sent.
    await env.SHIPPER.traced(env.WORKER, JSON.parse(JSON.stringify(items)));
  },
};
