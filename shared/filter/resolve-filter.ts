/** Gives the references of a filter their values, before the filter is compiled. The rule for missing ones opens references.ts. */
import { filterProblem } from "./filter-problem.ts";
import type { Filter, FilterTest, ReferringCondition } from "./parse-filter.ts";
import { type Reference, type ReferenceValue, referenceName } from "./references.ts";

/** The value that a reference has for a condition on an attribute; undefined if there is none. May throw Problem. */
export type ReferenceValues = (reference: Reference, attribute: string) => ReferenceValue | undefined;

/** Limit on the values that the references of one filter have together. */
const VALUES_MAX = 1000;

/** A filter without references. The names of missing ones are added to `missing`. Throws Problem for values that do not fit. */
export function resolveFilter(filter: Filter, valueFor: ReferenceValues, missing: Set<string>): Filter {
  return hasReferring(filter) ? resolved(filter, { valueFor, missing, valuesLeft: VALUES_MAX }, true) : filter;
}

const hasReferring = (filter: Filter): boolean =>
  filter.kind === "referring" || ("of" in filter && [filter.of].flat().some(hasReferring));

type Resolving = { readonly valueFor: ReferenceValues; readonly missing: Set<string>; valuesLeft: number };

/** @param isPlain Whether the filter is below an even number of negations. */
function resolved(filter: Filter, resolving: Resolving, isPlain: boolean): Filter {
  if (filter.kind === "not") return { kind: "not", of: resolved(filter.of, resolving, !isPlain) };
  if (filter.kind === "referring") return resolvedCondition(filter, resolving, isPlain);
  if ("attribute" in filter) return filter;
  return { ...filter, of: filter.of.map((part) => resolved(part, resolving, isPlain)) };
}

function resolvedCondition(condition: ReferringCondition, resolving: Resolving, isPlain: boolean): Filter {
  const { attribute, pointer, references } = condition;
  const values = new Map<string, ReferenceValue>();
  let isMissing = false;
  for (const reference of references) {
    const value = resolving.valueFor(reference, attribute) ?? reference.fallback;
    if (value === undefined) {
      resolving.missing.add(referenceName(reference));
      isMissing = true;
      continue;
    }
    resolving.valuesLeft -= Array.isArray(value) ? value.length : 1;
    if (resolving.valuesLeft < 0)
      throw filterProblem("filter_too_large", reference.pointer, `is beyond ${VALUES_MAX} values of references`);
    values.set(reference.pointer, value);
  }
  if (!isMissing) return condition.withValues((reference) => values.get(reference.pointer)!);
  // A test that no item passes; it still names the attribute, so that an unknown one is found.
  const never: FilterTest = { kind: "in", values: [], attribute, pointer, path: "" };
  return isPlain ? never : { kind: "not", of: never };
}
