type Environment = Record<string, string | undefined>;

/**
 * Lets calls to this machine go past a proxy that the environment names (`NODE_USE_ENV_PROXY`), which could not reach it. `fetch` reads the
 * variables at each call, and processes that are started inherit them.
 */
export function reachThisMachine(environment: Environment): void {
  const listed = environment.no_proxy || environment.NO_PROXY;
  const hosts = [...(listed ? [listed] : []), "127.0.0.1", "localhost"].join(",");
  environment.no_proxy = hosts;
  environment.NO_PROXY = hosts;
}
