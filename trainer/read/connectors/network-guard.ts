/**
 * The addresses to which connectors may connect. A request names the host, so without this guard a customer could make the trainer
 * connect to what only the trainer can reach: its own ports, its network, the cloud's metadata service (SSRF).
 */
import { lookup } from "node:dns/promises";
import { BlockList, isIP, isIPv4 } from "node:net";
import { StageError } from "../../stage/stage-error.ts";

/** Always refused: no database has such an address, and some clouds give out credentials there. */
const FORBIDDEN = blockList([
  ["169.254.0.0", 16, "ipv4"], // link-local, metadata of most clouds (RFC 3927)
  ["192.0.0.0", 24, "ipv4"], // protocols (RFC 6890), metadata of Oracle
  ["168.63.129.16", 32, "ipv4"], // Azure
  ["100.100.100.200", 32, "ipv4"], // Alibaba
  ["0.0.0.0", 8, "ipv4"],
  ["224.0.0.0", 4, "ipv4"], // multicast
  ["240.0.0.0", 4, "ipv4"],
  ["fe80::", 10, "ipv6"], // link-local
  ["fec0::", 10, "ipv6"], // site-local, deprecated (RFC 3879)
  ["ff00::", 8, "ipv6"], // multicast
  ["fd00:ec2::", 32, "ipv6"], // metadata of AWS
  ["fd20:ce::254", 128, "ipv6"], // Google
  ["fd00:c1::a9fe:a9fe", 128, "ipv6"], // Oracle
  ["fd00:42::42", 128, "ipv6"], // Scaleway
  ["::", 128, "ipv6"],
]);

/** Loopback and private networks, refused unless the operator allows them. */
const PRIVATE = blockList([
  ["127.0.0.0", 8, "ipv4"],
  ["10.0.0.0", 8, "ipv4"], // RFC 1918
  ["172.16.0.0", 12, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["100.64.0.0", 10, "ipv4"], // RFC 6598
  ["198.18.0.0", 15, "ipv4"], // RFC 2544
  ["::1", 128, "ipv6"],
  ["fc00::", 7, "ipv6"], // RFC 4193
  ["64:ff9b:1::", 48, "ipv6"], // a network's own translation to IPv4 (RFC 8215)
]);

type Lookup = (host: string) => Promise<readonly { readonly address: string }[]>;

/**
 * An allowed address of the host. Connect to this address and not to the name, because a second DNS lookup could give another one.
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
  // One refused address refuses the host: it could be used by a later connection.
  if (addresses.length === 0) unknownHost(host);
  if (refused === undefined) return addresses[0]!;
  throw new StageError(
    "fetching",
    "address_not_allowed",
    `The host ${JSON.stringify(host)} is not a public address, and connectors may not reach it; ask the operator to allow private addresses if it is meant`,
  );
}

/** True for an allowed IP address. An IPv6 address that embeds an IPv4 address must be allowed as both. */
export function isAllowed(address: string, allowPrivate: boolean): boolean {
  if (isIP(address) === 0 || address.includes("%")) return false; // only link-local addresses need a zone
  return [address, ...embeddedIn(address)].every((one) => {
    const kind = isIPv4(one) ? "ipv4" : "ipv6";
    return !FORBIDDEN.check(one, kind) && (allowPrivate || !PRIVATE.check(one, kind));
  });
}

/** The IPv4 addresses that an IPv6 address embeds: packets may be delivered to these. */
function embeddedIn(address: string): string[] {
  if (isIPv4(address)) return [];
  const bytes = bytesOf(address);
  const at = (start: number, flip = 0) => Array.from(bytes.subarray(start, start + 4), (byte) => byte ^ flip).join(".");
  const hex = Buffer.from(bytes).toString("hex");
  if (/^0{31}[01]$/.test(hex)) return []; // unspecified and loopback
  if (/^(0{24}|0{20}ffff|0{16}ffff0000|0064ff9b0{16}|0064ff9b0001)/.test(hex)) return [at(12)]; // RFC 4291, 2765, 6052, 8215
  if (hex.startsWith("2002")) return [at(2)]; // 6to4 (RFC 3056)
  if (hex.startsWith("20010000")) return [at(4), at(12, 0xff)]; // Teredo's server and client (RFC 4380)
  return [];
}

/** The 16 bytes of an IPv6 address without a zone, in any notation. */
function bytesOf(address: string): Uint8Array {
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1); // groups of hex digits, at most one `::`
  const [head, tail] = canonical.split("::").map((part) => part.split(":").filter(Boolean));
  const zeros = Array<string>(8 - head!.length - (tail?.length ?? 0)).fill("0");
  const groups = [...head!, ...zeros, ...(tail ?? [])].map((group) => Number.parseInt(group, 16));
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
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
