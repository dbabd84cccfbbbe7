import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ShortlistError } from "../client/shortlist.ts";

/** What a page has loaded. After a failure, the last value stays. */
export type Loaded<Value> = {
  readonly value: Value | undefined;
  readonly error: ShortlistError | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
};

/**
 * Loads a value, again whenever `inputs` change, and again after the time that `againMs` says. A hidden page loads nothing.
 *
 * @param againMs Undefined for a value that is loaded once.
 */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[],
  againMs?: (value: Value | undefined) => number | undefined,
): Loaded<Value> {
  const value: Signal<Value | undefined> = useSignal(undefined);
  const error: Signal<ShortlistError | undefined> = useSignal(undefined);
  const isLoading = useSignal(true);
  const attempt = useSignal(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = async () => {
      if (document.hidden) {
        document.addEventListener("visibilitychange", run, { once: true, signal: stop.signal });
        return;
      }
      isLoading.value = true;
      try {
        const loaded = await load(stop.signal);
        if (stop.signal.aborted) return;
        value.value = loaded;
        error.value = undefined;
      } catch (thrown) {
        if (stop.signal.aborted) return;
        error.value = thrown as ShortlistError;
      }
      isLoading.value = false;
      const waitMs = againMs?.(value.value);
      if (waitMs !== undefined) timer = setTimeout(run, waitMs);
    };
    void run();
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [...inputs, attempt.value]);
  return {
    value: value.value,
    error: error.value,
    isLoading: isLoading.value,
    reload: () => {
      attempt.value++;
    },
  };
}

/** An action of a button: runs one at a time, and keeps its error until the next attempt. */
export function useAction<Input extends unknown[]>(act: (...input: Input) => Promise<unknown>) {
  const isRunning = useSignal(false);
  const error: Signal<ShortlistError | undefined> = useSignal(undefined);
  const run = async (...input: Input): Promise<boolean> => {
    if (isRunning.value) return false;
    isRunning.value = true;
    error.value = undefined;
    try {
      await act(...input);
      return true;
    } catch (thrown) {
      error.value = thrown as ShortlistError;
      return false;
    } finally {
      isRunning.value = false;
    }
  };
  return { run, isRunning: isRunning.value, error: error.value };
}
