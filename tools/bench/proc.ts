/** Memory and CPU time of processes, as Linux counts them: the runtime tells neither. */
import { accessSync, constants, readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Resets the kernel's peak. https://docs.kernel.org/filesystems/proc.html (`clear_refs`). */
const FORGET_PEAK = "5";

/** Whether this system reports resident memory and resets the peak: Linux does. */
export function canMeasureMemory(): boolean {
  try {
    accessSync("/proc/self/clear_refs", constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Each method throws if there is no such process, or no /proc. */
export class ProcessMemory {
  readonly #pid: number;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Resident now, in bytes. */
  now(): number {
    return this.#status("VmRSS");
  }

  /** The most since {@link forgetPeak}, in bytes: the kernel's own mark, not a sample. */
  peak(): number {
    return this.#status("VmHWM");
  }

  forgetPeak(): void {
    writeFileSync(`/proc/${this.#pid}/clear_refs`, FORGET_PEAK);
  }

  #status(name: string): number {
    const status = readFileSync(`/proc/${this.#pid}/status`, "utf8");
    return Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, "m").exec(status)?.[1]) * 1_024;
  }
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
  return threadsOf(parent).flatMap((thread) => {
    const children = read(`/proc/${parent}/task/${thread}/children`).split(" ").filter(Boolean).map(Number);
    return children.flatMap((child) => {
      const runs = read(`/proc/${child}/comm`).trim() === "workerd" && read(`/proc/${child}/schedstat`) !== "";
      return [...(runs ? [child] : []), ...runtimes(child)];
    });
  });
}

/** A thread may end meanwhile, and not every system has /proc. */
function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
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
