import type { IncomingHttpHeaders } from "node:http"

/** The longest time-out that is understood, in milliseconds: what a timer of Node can hold, in eight digits. */
const longest = "99999999m"

/** Cuts a `grpc-timeout` beyond what a timer of Node can hold: the call would end at once. */
export function clampGrpcTimeout(headers: IncomingHttpHeaders): void {
  const given = headers["grpc-timeout"]
  const value = Array.isArray(given) ? given[0] : given
  if (value !== undefined && /^(\d{3,}H|\d{5,}M|\d{7,}S|\d{9,}m)$/.test(value)) headers["grpc-timeout"] = longest
}
