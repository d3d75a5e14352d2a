/**
 * `npm run scale`: the shipper's own code on a simulated platform, at many rates, and how far each
 * part of it is from the platform's limits. docs/scale.md says how. Not part of the tests: nothing
 * here passes or fails.
 *
 *     npm run scale                          all cells and outages, on the terminal
 *     npm run scale -- --cell=100x10xmany    events/s, jobs, isolates (few, many, or a number)
 *                                            and, after another x, shards of the log
 *     npm run scale -- --outage=logx1000x24  a part that is down, events/s, hours
 *     npm run scale -- --markdown            the tables of docs/scale.md
 *     npm run scale -- --seconds=120         simulated time of a load, in whole upload intervals, …
 *     npm run scale -- --cpu=60              … and CPU time in s after which it ends earlier
 */
import "../../../test/schedule/hooks.ts";

// What it loads imports src, which the line above makes loadable.
const { main } = await import("./main.ts");
await main(process.argv.slice(2));
