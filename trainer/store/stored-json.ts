/** The stored JSON value; undefined if the bytes are not JSON. */
export function storedJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
