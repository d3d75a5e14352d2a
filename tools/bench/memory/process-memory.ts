/** Memory of a process as Linux counts it, from outside: the runtime does not report it. */
import { accessSync, constants, readFileSync, writeFileSync } from "node:fs";

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

export class ProcessMemory {
  readonly #pid: number;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Resident now, in bytes. @throws if there is no such process, or no /proc. */
  now(): number {
    return this.#status("VmRSS");
  }

  /**
   * The most that was resident since {@link forgetPeak}, in bytes: the kernel's own mark, not a
   * sample. @throws as {@link now}.
   */
  peak(): number {
    return this.#status("VmHWM");
  }

  /** @throws where the kernel does not offer it. */
  forgetPeak(): void {
    writeFileSync(`/proc/${this.#pid}/clear_refs`, FORGET_PEAK);
  }

  #status(name: string): number {
    const kilobytes = new RegExp(`^${name}:\\s*(\\d+) kB$`, "m").exec(
      readFileSync(`/proc/${this.#pid}/status`, "utf8"),
    )?.[1];
    if (kilobytes === undefined) throw new Error(`/proc/${this.#pid}/status has no ${name}`);
    return Number(kilobytes) * 1_024;
  }
}
