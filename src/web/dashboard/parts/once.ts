interface Hit {
  job_id: number;
  record: unknown;
}

/**
 * Tells which hits of a search are new. Several jobs may ship a record; one job may ship several
 * that look the same, and these all count.
 * @param identityOf what two copies of a record have in common.
 */
export function once(identityOf: (record: unknown) => string): (hit: Hit) => boolean {
  const [ofJobs, kept] = [new Map<string, number>(), new Map<string, number>()];
  return ({ job_id, record }) => {
    const id = identityOf(record);
    const times = (ofJobs.get(`${job_id} ${id}`) ?? 0) + 1;
    ofJobs.set(`${job_id} ${id}`, times);
    if (times <= (kept.get(id) ?? 0)) return false;
    kept.set(id, times);
    return true;
  };
}
