import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from "oauth4webapi"
import { boundedBody } from "../provider-tokens/bounded-body.js"
import { isAllowedUrl } from "../provider-tokens/providers-file.js"
import { peerSignal } from "../util/peer-timeout.js"

/** Requests a document of an issuer. */
export type IssuerRequest = (
  url: string,
  init: { method: string; headers: Headers | Record<string, string> },
) => Promise<Response>

/**
 * Returns a function that requests documents of an issuer. The requests are limited like those to token endpoints: `https:`, or
 * `http:` on loopback, no redirect, and an answer of a bounded size. It throws if there is no usable answer.
 *
 * @param timeoutMs The time that the issuer may take for an answer, in milliseconds.
 */
export function issuerRequest(timeoutMs: number): IssuerRequest {
  return async (url, { method, headers }) => {
    if (!isAllowedUrl(url)) throw new Error("the issuer names an address that is not allowed")
    const response = await fetch(url, { method, headers, redirect: "manual", signal: peerSignal(timeoutMs) })
    const body = response.status === 200 ? await boundedBody(response) : undefined
    if (body === undefined) throw new Error("the issuer gives no answer, or one that is too large")
    return new Response(body, { headers: { "content-type": "application/json" } })
  }
}

/** Reads the metadata of an issuer: OpenID Connect Discovery 1.0. */
export async function discover(issuer: string, request: IssuerRequest): Promise<AuthorizationServer> {
  const url = new URL(issuer)
  const response = await discoveryRequest(url, {
    [customFetch]: (address, { method, headers }) => request(address, { method, headers }),
    [allowInsecureRequests]: url.protocol === "http:",
  })
  return processDiscoveryResponse(url, response)
}
