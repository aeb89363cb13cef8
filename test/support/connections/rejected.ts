import { ErrorInfoSchema, RetryInfoSchema } from "@authwire/proto/rpc/error_details"
import { durationMs } from "@bufbuild/protobuf/wkt"
import { Code } from "@connectrpc/connect"
import { wireError } from "./wire-error.js"

/**
 * Returns how a call was rejected, with the retry time: `RESOURCE_EXHAUSTED RATE_LIMITED 500`. Rejects if it succeeded.
 */
export async function rejection(call: Promise<unknown>): Promise<string> {
  const error = wireError(
    await call.then(
      () => new Error("the call succeeded"),
      (caught: unknown) => caught,
    ),
  )
  const [info] = error.findDetails(ErrorInfoSchema)
  const [retry] = error.findDetails(RetryInfoSchema)
  return `${Code[error.code]} ${info?.reason} ${retry?.retryDelay && durationMs(retry.retryDelay)}`
}
