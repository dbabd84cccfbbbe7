/** What `npm run doctor` says about things that work today and will soon fail: keys, certificates, credentials, conditions, addresses. */
import { once } from "node:events";
import { connect } from "node:tls";
import { type Found, fault, ok, warning } from "../../../shared/health.ts";
import { KeyRecord } from "../../../shared/key-record.ts";
import type { StoreAccess } from "../../settings.ts";
import { type ObjectStore, storedJson } from "../../store/object-store.ts";
import { s3Store } from "../../store/s3-store.ts";
import type { Check } from "./checks.ts";

const DAY_MS = 86_400_000;
export const SOON_MS = 14 * DAY_MS;
/** Keys that are looked at. */
const KEYS_MAX = 500;
const PROBE_KEY = "doctor/write-test";

/** The keys of all customers. */
export const checkKeys = (store: ObjectStore, nowMs: () => number): Check => ({
  name: "api keys",
  run: (signal) => expiryFinding(allKeys(store), { signal, nowMs: nowMs() }),
});

/** Whether one of the first keys expires soon. */
export async function expiryFinding(
  keys: AsyncIterable<KeyRecord>,
  { signal, nowMs }: { readonly signal: AbortSignal; readonly nowMs: number },
): Promise<Found> {
  let count = 0;
  for await (const { key_id, customer, expires_at, revoked_at } of keys) {
    signal.throwIfAborted();
    if (++count > KEYS_MAX) break;
    if (revoked_at !== null || expires_at === null) continue;
    const leftMs = Date.parse(expires_at) - nowMs;
    if (leftMs > 0 && leftMs < SOON_MS)
      return warning(
        `the key ${key_id} of ${customer} expires at ${expires_at}`,
        `Issue another (npm run keys -- issue --customer ${customer}), and replace it where it is used.`,
      );
  }
  return ok("none expires within 14 days");
}

async function* allKeys(store: ObjectStore): AsyncGenerator<KeyRecord> {
  for await (const { key } of store.list("keys/")) {
    const found = await store.get(key);
    const record = KeyRecord.safeParse(found && storedJson(found.bytes));
    if (record.success) yield record.data;
  }
}

/** The certificate of the address that callers use. */
export const checkCertificate = (url: string, nowMs: () => number): Check => ({
  name: "certificate",
  run: async (signal) => {
    const { hostname, port, protocol } = new URL(url);
    if (protocol !== "https:") return ok("none, since the address is not https");
    const socket = connect({ host: hostname, port: Number(port || 443), rejectUnauthorized: false });
    try {
      await once(socket, "secureConnect", { signal });
      const validToMs = Date.parse(socket.getPeerCertificate().valid_to);
      const finding = `${hostname} is valid until ${new Date(validToMs).toISOString()}`;
      if (validToMs > nowMs() + SOON_MS) return ok(finding);
      const remedy = "Look at the proxy's log: ports 80 and 443 must reach it, so that it can renew.";
      return validToMs < nowMs() ? fault(finding, remedy) : warning(finding, remedy);
    } finally {
      socket.destroy();
    }
  },
});

export const checkCredentials = ({ sessionToken }: StoreAccess): Check => ({
  name: "bucket credentials",
  run: async () => {
    if (sessionToken === undefined) return ok("do not expire by themselves");
    const finding = "are temporary (SHORTLIST_S3_SESSION_TOKEN): the trainer stops when they expire";
    return warning(finding, "Use a permanent access key of the bucket.");
  },
});

/** Two trainers, or a trainer and an operator, rely on writes that are refused if the object is there. */
export const checkConditions = (access: StoreAccess): Check => ({
  name: "bucket's conditions",
  run: async (signal) => {
    const store = s3Store({ ...access, signal, attempts: 1 });
    const write = () => store.swap(PROBE_KEY, new TextEncoder().encode("npm run doctor"), null);
    await store.delete(PROBE_KEY);
    const [first, second] = [await write(), await write()];
    await store.delete(PROBE_KEY);
    if (first !== undefined && second === undefined) return ok("are kept");
    const finding = "are ignored (If-None-Match): two writers can overwrite each other";
    return fault(finding, "Use a store with conditional writes, such as R2, S3 or a recent MinIO.");
  },
});

/** Customers let these addresses through their firewalls. Cloudflare says from which one it is called. */
export const checkEgress = (edgeUrl: string, addresses: readonly string[]): Check => ({
  name: "egress address",
  run: async (signal) => {
    const answer = await fetch(`${edgeUrl}/cdn-cgi/trace`, { signal }).catch(() => undefined);
    const address = /^ip=(\S+)$/m.exec((await answer?.text().catch(() => "")) ?? "")?.[1];
    if (address === undefined) return ok(`${addresses.join(", ") || "not set"}; nobody was there to compare it`);
    if (addresses.includes(address)) return ok(`${address}, as set`);
    const finding = `${address} is not one of SHORTLIST_EGRESS_ADDRESSES (${addresses.join(", ") || "none"})`;
    return warning(finding, `Add ${address}, and give it to customers whose firewalls need it.`);
  },
});
