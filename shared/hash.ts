/** A 64-bit hash as two unsigned 32-bit halves. */
export type Hash64 = { readonly high: number; readonly low: number };

/** The name under which a user is stored: the first 64 bits of SHA-256(salt ‖ UTF-8 of the id). */
export async function userHash(salt: Uint8Array, userId: string): Promise<Hash64> {
  const id = new TextEncoder().encode(userId);
  const text = new Uint8Array(salt.length + id.length);
  text.set(salt);
  text.set(id, salt.length);
  const digest = new DataView(await crypto.subtle.digest("SHA-256", text));
  return { high: digest.getUint32(0), low: digest.getUint32(4) };
}
