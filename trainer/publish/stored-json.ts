/** What stored bytes say as JSON; undefined, which no JSON says, where they are none. */
export function storedJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
