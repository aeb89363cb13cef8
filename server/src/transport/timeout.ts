import type { IncomingHttpHeaders } from "node:http"

/** The longest time-out that is understood, in milliseconds: what a timer of Node can hold, in eight digits. */
const longest = 99_999_999

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** How long the caller waits, in milliseconds, as `grpc-timeout` says; undefined if it does not say, or not well. */
export function grpcTimeout(headers: IncomingHttpHeaders): number | undefined {
  const [, value, unit = ""] = /^(\d{1,15})([HMSmun])$/.exec(first(headers["grpc-timeout"])) ?? []
  return value === undefined ? undefined : Math.min(Number(value) * (unitMs[unit] ?? 1), longest)
}

/** Cuts time-outs beyond what a timer of Node can hold: the call would end at once. */
export function clampTimeouts(headers: IncomingHttpHeaders): void {
  if (grpcTimeout(headers) === longest) headers["grpc-timeout"] = `${longest}m`
  if (/^\d{9,}$/.test(first(headers["connect-timeout-ms"]))) headers["connect-timeout-ms"] = String(longest)
}

function first(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value[0] : value) ?? ""
}
