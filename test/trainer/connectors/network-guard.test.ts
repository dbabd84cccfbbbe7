import { expect, test } from "vitest";
import { allowedAddress, isAllowed } from "../../../trainer/connectors/network-guard.ts";

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
])("%s: %s to everybody, %s where private addresses are allowed", (address, open, whenPrivate) => {
  expect(isAllowed(address, false)).toBe(open);
  expect(isAllowed(address, true)).toBe(whenPrivate);
});

test("one private address among a name's refuses the name", async () => {
  const resolve = async () => [{ address: "93.184.216.34" }, { address: "10.0.0.1" }];
  await expect(allowedAddress("two.example", { allowPrivate: false, resolve })).rejects.toMatchObject({
    code: "address_not_allowed",
  });
  expect(await allowedAddress("two.example", { allowPrivate: true, resolve })).toBe("93.184.216.34");
});

test("a name that does not exist is said so; a resolver that is down may be asked again", async () => {
  const failing = (code: string) => async () => {
    throw Object.assign(new Error(code), { code });
  };
  const refusal = (code: string) => allowedAddress("x.example", { allowPrivate: true, resolve: failing(code) });
  await expect(refusal("ENOTFOUND")).rejects.toMatchObject({ code: "unknown_host", retryable: false });
  await expect(refusal("EAI_AGAIN")).rejects.toMatchObject({ code: "unknown_host", retryable: true });
});
