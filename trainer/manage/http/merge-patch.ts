type Json = unknown;

/**
 * JSON merge patch (RFC 7396): null removes a member, objects are merged, everything else replaces.
 *
 * @param nulls `kept`: what would be removed and is not there is null in the result, so that its name can be looked at.
 */
export function mergePatch(target: Json, patch: Json, nulls: "removed" | "kept" = "removed"): Json {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch))
    if (value === null && (nulls === "removed" || merged.has(name))) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value, nulls));
  return Object.fromEntries(merged);
}

export const isObject = (value: Json): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
