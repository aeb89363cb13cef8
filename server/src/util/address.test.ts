import { expect, test } from "@jest/globals"
import { plainAddress } from "./address.js"

test.each([
  ["::ffff:127.0.0.1", "127.0.0.1"],
  ["::FFFF:192.0.2.7", "192.0.2.7"],
  ["0:0:0:0:0:ffff:c000:207", "192.0.2.7"],
  ["127.0.0.1", "127.0.0.1"],
  ["::1", "::1"],
  ["2001:DB8::1", "2001:DB8::1"],
  ["fe80::ffff:1%eth0", "fe80::ffff:1%eth0"],
  ["::ffff:1.2.3.4]:80/", "::ffff:1.2.3.4]:80/"],
  ["unknown", "unknown"],
  ["", ""],
])("%s is stored as %s", (given, stored) => {
  expect(plainAddress(given)).toBe(stored)
})
