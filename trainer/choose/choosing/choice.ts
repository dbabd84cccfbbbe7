import type { Params } from "../../learn/model.ts";
import type { Trial } from "./trial.ts";

/** A method with its settings: what can be fitted again on other data. */
export type Choice = { readonly method: string; readonly params: Params };

export const choiceOf = ({ method, params }: Trial): Choice => ({ method: method.name, params });

/** Whether two choices are of one method with equal settings, in whatever order these are written. */
export function isSameChoice(choice: Choice, other: Choice | undefined): boolean {
  if (other === undefined || choice.method !== other.method) return false;
  const names = new Set([...Object.keys(choice.params), ...Object.keys(other.params)]);
  return [...names].every((name) => choice.params[name] === other.params[name]);
}
