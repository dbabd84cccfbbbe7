/**
 * Runs work for a key, never twice at once, since R2 takes one write per second and object. Calls while the work is in progress
 * wait for one further run, which they share.
 */
export function oneAtATime() {
  const present = new Map<string, Promise<void>>();
  const next = new Map<string, Promise<void>>();
  return (key: string, work: () => Promise<void>): Promise<void> => {
    const begin = () => {
      next.delete(key);
      const run = work().finally(() => present.delete(key));
      present.set(key, run);
      return run;
    };
    const inProgress = present.get(key);
    const waiting = next.get(key);
    if (waiting !== undefined) return waiting;
    if (inProgress === undefined) return begin();
    const run = inProgress.then(begin, begin);
    next.set(key, run);
    return run;
  };
}
