/**
 * Where connectors may connect to. A request's settings name the host, so without this guard a customer could make the
 * trainer talk to what only the trainer can reach: its own ports, its network, the cloud's metadata service.
 */
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { StageError } from "../stage-error.ts";

/** Never a database's address; some clouds hand out credentials here. Refused whatever the operator allows. */
const FORBIDDEN = blockList([
  ["169.254.0.0", 16, "ipv4"], // link-local, metadata (RFC 3927)
  ["0.0.0.0", 8, "ipv4"],
  ["224.0.0.0", 4, "ipv4"], // multicast
  ["240.0.0.0", 4, "ipv4"],
  ["fe80::", 10, "ipv6"], // link-local
  ["ff00::", 8, "ipv6"], // multicast
  ["fd00:ec2::", 32, "ipv6"], // metadata of one cloud
  ["::", 128, "ipv6"],
]);

/** Loopback and private networks: for the operator to allow. */
const PRIVATE = blockList([
  ["127.0.0.0", 8, "ipv4"],
  ["10.0.0.0", 8, "ipv4"], // RFC 1918
  ["172.16.0.0", 12, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["100.64.0.0", 10, "ipv4"], // RFC 6598
  ["198.18.0.0", 15, "ipv4"], // RFC 2544
  ["::1", 128, "ipv6"],
  ["fc00::", 7, "ipv6"], // RFC 4193
]);

type Lookup = (host: string) => Promise<readonly { readonly address: string }[]>;

/**
 * An address of the host that may be connected to. Connect to this address, not to the name: a second look-up could
 * answer something else.
 *
 * Throws StageError `unknown_host` or `address_not_allowed`.
 */
export async function allowedAddress(
  host: string,
  { allowPrivate, resolve = resolveAll }: { readonly allowPrivate: boolean; readonly resolve?: Lookup },
): Promise<string> {
  const found = isIP(host) ? [{ address: host }] : await resolve(host).catch((cause) => unknownHost(host, cause));
  const addresses = found.map(({ address }) => address);
  const refused = addresses.find((address) => !isAllowed(address, allowPrivate));
  // One bad address refuses the host: which of them is used is not ours to choose at every connection.
  if (addresses.length === 0) unknownHost(host);
  if (refused === undefined) return addresses[0]!;
  throw new StageError(
    "fetching",
    "address_not_allowed",
    `The host ${JSON.stringify(host)} is not a public address, and connectors may not reach it; ask the operator to allow private addresses if it is meant`,
  );
}

/** Whether an IP address may be connected to. IPv4 inside IPv6 counts as the IPv4 address. */
export function isAllowed(address: string, allowPrivate: boolean): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  const family = isIP(mapped);
  if (family === 0) return false;
  const kind = family === 4 ? "ipv4" : "ipv6";
  return !FORBIDDEN.check(mapped, kind) && (allowPrivate || !PRIVATE.check(mapped, kind));
}

const resolveAll: Lookup = (host) => lookup(host, { all: true });

function unknownHost(host: string, cause?: unknown): never {
  throw new StageError("fetching", "unknown_host", `There is no host ${JSON.stringify(host)}; check its name`, {
    cause,
    retryable: (cause as NodeJS.ErrnoException | undefined)?.code === "EAI_AGAIN",
  });
}

function blockList(ranges: readonly (readonly [string, number, "ipv4" | "ipv6"])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix, family] of ranges) list.addSubnet(network, prefix, family);
  return list;
}
