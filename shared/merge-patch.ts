/** JSON merge patch (RFC 7396): null removes a member, objects are merged, everything else replaces. */

/** @param nulls `kept`: a null for a member that does not exist stays in the result, so that its name can be checked. */
export function mergePatch(target: unknown, patch: unknown, nulls: "removed" | "kept" = "removed"): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch))
    if (value === null && (nulls === "removed" || merged.has(name))) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value, nulls));
  return Object.fromEntries(merged);
}

type Json = Readonly<Record<string, unknown>>;

/** The smallest patch that makes `after` of `before`. Neither has a null. */
export function patchBetween(before: Json, after: Json): Json {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    names.flatMap((name) => {
      const [from, to] = [before[name], after[name]];
      if (!isObject(from) || !isObject(to))
        return JSON.stringify(from) === JSON.stringify(to) ? [] : [[name, to ?? null]];
      const part = patchBetween(from, to);
      return Object.keys(part).length > 0 ? [[name, part]] : [];
    }),
  );
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
