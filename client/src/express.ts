import type { IncomingMessage, ServerResponse } from "node:http"
import { forwardSignal, type SignalClient, signalBody } from "./signals/forward.js"

export {
  type FederatedSignOutOptions,
  federatedSignOut,
  type JwtSignIn,
  type SignOutClient,
} from "./signals/federated-sign-out.js"
export type { SignalClient } from "./signals/forward.js"

/** What is used of a request of Express. */
interface ExpressRequest extends IncomingMessage {
  readonly params: Readonly<Record<string, string | string[] | undefined>>
}

/**
 * Creates a handler that passes the signals of providers on to the service: logout tokens, security events and Apple's
 * notifications. It is for services that providers cannot reach; each of its answers is the one that the standard demands. Errors of
 * other kinds are passed to Express.
 *
 * Register it before body parsers, because it reads the body itself.
 *
 * @param client - A client whose key has the scope `signals:write`.
 * @example
 * ```ts
 * import { signals } from "@authwire/client/express"
 *
 * app.post("/signals/:provider", signals(createAuthwireClient({ url, apiKey })))
 * ```
 */
export function signals(
  client: SignalClient,
): (request: ExpressRequest, response: ServerResponse, next: (error?: unknown) => void) => void {
  async function answer(request: ExpressRequest, response: ServerResponse): Promise<void> {
    const body = await signalBody(request)
    const provider = String(request.params.provider)
    const answered = await forwardSignal(client, { provider, contentType: request.headers["content-type"], body })
    // What was not read of a large body must not be taken for the next request.
    if (body === undefined) response.setHeader("connection", "close")
    response.writeHead(answered.status, Object.fromEntries(answered.headers)).end(await answered.text())
  }
  return (request, response, next) => {
    answer(request, response).catch(next)
  }
}
