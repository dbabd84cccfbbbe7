import type { Method, Params } from "../../learn/model.ts";

/** A method's name with its settings: it can be fitted again on other data. */
export type Choice = { readonly method: string; readonly params: Params };

export const choiceOf = ({ method, params }: Candidate): Choice => ({ method: method.name, params });

/** True if both choices have the same method and equal settings; the order of the settings does not matter. */
export function isSameChoice(choice: Choice, other: Choice | undefined): boolean {
  if (other === undefined || choice.method !== other.method) return false;
  const names = new Set([...Object.keys(choice.params), ...Object.keys(other.params)]);
  return [...names].every((name) => choice.params[name] === other.params[name]);
}

/** One method with one set of settings, before it is tried. */
export type Candidate = { readonly method: Method; readonly params: Params };
