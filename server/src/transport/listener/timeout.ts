import type { IncomingHttpHeaders } from "node:http"
import { firstOf } from "./content-type.js"

/** The longest timeout that is accepted, in milliseconds. A Node timer can hold it, and it has eight digits. */
const longest = 99_999_999

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/**
 * Returns the timeout in `grpc-timeout`, in milliseconds; undefined if the header is missing or malformed. The gRPC
 * specification allows at most eight digits, but Connect's client sends more for a long timeout.
 */
export function grpcTimeout(headers: IncomingHttpHeaders): number | undefined {
  const [, value, unit = ""] = /^(\d{1,15})([HMSmun])$/.exec(firstOf(headers["grpc-timeout"]) ?? "") ?? []
  return value === undefined ? undefined : Math.min(Number(value) * (unitMs[unit] ?? 1), longest)
}

/** Returns the timeout in `connect-timeout-ms`, in milliseconds; undefined if the header is missing or malformed. */
export function connectTimeout(headers: IncomingHttpHeaders): number | undefined {
  const value = firstOf(headers["connect-timeout-ms"]) ?? ""
  return /^\d{1,10}$/.test(value) ? Number(value) : undefined
}

/** Reduces timeouts that a Node timer cannot hold. Otherwise the call would end at once. */
export function clampTimeouts(headers: IncomingHttpHeaders): void {
  if (grpcTimeout(headers) === longest) headers["grpc-timeout"] = `${longest}m`
  if (/^\d{9,}$/.test(firstOf(headers["connect-timeout-ms"]) ?? "")) headers["connect-timeout-ms"] = String(longest)
}
