/**
 * CPU time of the runtime's processes, from outside: inside, clocks stand still, and wall time says
 * little on a busy machine.
 */
import { readdirSync, readFileSync } from "node:fs";

export interface CpuClock {
  /**
   * `cpu`: time that the runtime's threads were running; `wall`: wall time, where there is no
   * /proc.
   */
  kind: "cpu" | "wall";
  /** In ms, from an arbitrary zero. */
  nowMs(): number;
}

/** The clock of all processes below this one that run the runtime. */
export function cpuClock(): CpuClock {
  const pids = runtimes(process.pid);
  if (pids.length === 0) return { kind: "wall", nowMs: () => performance.now() };
  return { kind: "cpu", nowMs: () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0) };
}

/**
 * Sum over all threads, in ms: the first number in schedstat is ns on a CPU.
 * https://docs.kernel.org/scheduler/sched-stats.html
 */
function cpuMs(pid: number): number {
  let ns = 0;
  for (const thread of entries(`/proc/${pid}/task`))
    ns += Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0]);
  return ns / 1e6;
}

/**
 * CPU time of processes with all threads that they ever had, and of children that have ended, in
 * ms. The kernel counts it in hundredths of a second. A process that has ended counts nothing.
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html (`utime` to `cstime`)
 */
export function processCpuMs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + statCpuMs(read(`/proc/${pid}/stat`)), 0);
}

/** Of the text of one `stat`; 0 if it is empty. */
export function statCpuMs(stat: string): number {
  // The name before it is in brackets, and may have spaces and brackets of its own.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return stat === "" ? 0 : fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}

/** Processes below this one that run the runtime; none where there is no /proc. */
export function runtimes(parent: number): number[] {
  const found: number[] = [];
  for (const thread of entries(`/proc/${parent}/task`)) {
    for (const child of read(`/proc/${parent}/task/${thread}/children`).split(" ").map(Number)) {
      if (child === 0) continue;
      const runs = read(`/proc/${child}/comm`).trim() === "workerd" && read(`/proc/${child}/schedstat`) !== "";
      if (runs) found.push(child);
      found.push(...runtimes(child));
    }
  }
  return found;
}

/** Empty if there is none: a thread may end meanwhile, and not every system has /proc. */
function entries(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
