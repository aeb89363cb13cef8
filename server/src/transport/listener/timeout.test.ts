import { expect, test } from "@jest/globals"
import { clampTimeouts, grpcTimeout } from "./timeout.js"

test.each([
  ["1H", 3_600_000],
  ["2M", 120_000],
  ["3S", 3_000],
  ["250m", 250],
  ["1500u", 1.5],
  ["99999999n", 99.999999],
  // Longer than a Node timer can hold.
  ["99999999H", 99_999_999],
  ["2147484000m", 99_999_999],
])("grpc-timeout: %s is %d ms", (text, ms) => {
  expect(grpcTimeout({ "grpc-timeout": text })).toBeCloseTo(ms)
})

test.each(["", "1", "S", "-1S", "1.5S", "1s", "1S ", " 1S"])("grpc-timeout: %p is rejected as malformed", (text) => {
  expect(grpcTimeout({ "grpc-timeout": text })).toBeUndefined()
})

test("without a header there is no timeout", () => {
  expect(grpcTimeout({})).toBeUndefined()
})

test("only a timeout that is too long is reduced", () => {
  const headers = { "grpc-timeout": "99999999H", "connect-timeout-ms": "9999999999" }
  clampTimeouts(headers)
  expect(headers).toEqual({ "grpc-timeout": "99999999m", "connect-timeout-ms": "99999999" })
  const usual = { "grpc-timeout": "5S", "connect-timeout-ms": "5000" }
  clampTimeouts(usual)
  expect(usual).toEqual({ "grpc-timeout": "5S", "connect-timeout-ms": "5000" })
})
