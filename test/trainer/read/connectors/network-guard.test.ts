import fc from "fast-check";
import { expect, test } from "vitest";
import { allowedAddress, isAllowed } from "../../../../trainer/read/connectors/network-guard.ts";

test.each([
  ["93.184.216.34", true, true],
  ["2606:2800:220:1:248:1893:25c8:1946", true, true],
  ["127.0.0.1", false, true],
  ["10.1.2.3", false, true],
  ["172.31.255.255", false, true],
  ["172.32.0.0", true, true],
  ["192.168.1.1", false, true],
  ["100.64.0.1", false, true],
  ["::1", false, true],
  ["fd12::1", false, true],
  ["::ffff:127.0.0.1", false, true],
  ["169.254.169.254", false, false],
  ["::ffff:169.254.169.254", false, false],
  ["fe80::1", false, false],
  ["fd00:ec2::254", false, false],
  ["0.0.0.0", false, false],
  ["224.0.0.1", false, false],
  ["not an address", false, false],
  ["::", false, false],
  ["fec0::1", false, false],
  ["fe80::1%eth0", false, false],
  ["::1%lo", false, false],
  ["192.0.0.192", false, false],
  ["168.63.129.16", false, false],
  ["168.63.129.17", true, true],
  ["100.100.100.200", false, false],
  ["100.100.100.201", false, true],
  ["fd20:ce::254", false, false],
  ["fd00:c1::a9fe:a9fe", false, false],
  ["fd00:42::42", false, false],
  ["64:ff9b:1::5db8:d822", false, true],
  ["64:ff9b:1:2:3:4:a9fe:a9fe", false, false],
  ["2001:0:7f00:1::1", false, false], // the client's address is 255.255.255.254
  ["2001:0:7f00:1::a247:27dd", false, true],
  ["2001:0:5db8:d822::80ff:fffe", false, true],
  ["2001:0:5db8:d822::a247:27dd", true, true],
])("%s: %s by default, %s where private addresses are allowed", (address, open, whenPrivate) => {
  expect(isAllowed(address, false)).toBe(open);
  expect(isAllowed(address, true)).toBe(whenPrivate);
});

const octet = fc.integer({ min: 0, max: 255 });
const sample = fc.constantFrom("127.0.0.1", "10.1.2.3", "169.254.169.254", "100.100.100.200", "93.184.216.34");
const ipv4 = fc.oneof(
  sample,
  fc.tuple(octet, octet, octet, octet).map((octets) => octets.join(".")),
);
const hexOf = (address: string) =>
  Buffer.from(address.split(".").map(Number))
    .toString("hex")
    .replace(/^(....)/, "$1:");

test.each([
  ["IPv4-mapped", (v4: string) => [`::ffff:${v4}`, `::ffff:${hexOf(v4)}`, `0:0:0:0:0:FFFF:${hexOf(v4).toUpperCase()}`]],
  ["IPv4-compatible", (v4: string) => [`::${v4}`, `::${hexOf(v4)}`, `0:0:0:0:0:0:${v4}`]],
  ["IPv4-translated", (v4: string) => [`::ffff:0:${v4}`, `0:0::ffff:0:${hexOf(v4)}`]],
  ["NAT64", (v4: string) => [`64:ff9b::${v4}`, `64:ff9b::${hexOf(v4)}`, `0064:FF9B:0:0:0:0:${v4}`]],
  ["6to4", (v4: string) => [`2002:${hexOf(v4)}::`, `2002:${hexOf(v4)}:1:2:3:4:5`]],
])("%s addresses are checked as the IPv4 address in them", (_name, written) => {
  const isJudgedAlike = (v4: string, allowPrivate: boolean) => {
    for (const address of written(v4))
      expect([address, isAllowed(address, allowPrivate)]).toEqual([address, isAllowed(v4, allowPrivate)]);
  };
  fc.assert(
    fc.property(
      ipv4.filter((v4) => !v4.startsWith("0.0.0.")),
      fc.boolean(),
      isJudgedAlike,
    ),
    { numRuns: 500 },
  );
});

test("a host name with one private address is refused", async () => {
  const resolve = async () => [{ address: "93.184.216.34" }, { address: "10.0.0.1" }];
  await expect(allowedAddress("two.example", { allowPrivate: false, resolve })).rejects.toMatchObject({
    code: "address_not_allowed",
  });
  expect(await allowedAddress("two.example", { allowPrivate: true, resolve })).toBe("93.184.216.34");
});

test("an unknown host is not retryable; a resolver that is down is", async () => {
  const failing = (code: string) => async () => {
    throw Object.assign(new Error(code), { code });
  };
  const refusal = (code: string) => allowedAddress("x.example", { allowPrivate: true, resolve: failing(code) });
  await expect(refusal("ENOTFOUND")).rejects.toMatchObject({ code: "unknown_host", retryable: false });
  await expect(refusal("EAI_AGAIN")).rejects.toMatchObject({ code: "unknown_host", retryable: true });
});
