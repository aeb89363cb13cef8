import type { IntrospectionService } from "@authwire/proto"
import { requestHeaders } from "@authwire/token"
import { findRequestSession, type RequestSessionDeps } from "../introspection/request-session.js"
import type { Implementation } from "../rpc/call.js"
import { fromRequestSession, toRequestSessionOptions } from "./wire/introspection.js"

/** Creates the service that finds the session of an HTTP request. */
export function introspectionService(deps: RequestSessionDeps): Implementation<typeof IntrospectionService> {
  return {
    async introspect(request, caller) {
      const { cookie, authorization } = requestHeaders(request.headers.map(({ name, value }) => [name, value]))
      const headers = new Map([
        ["cookie", cookie],
        ["authorization", authorization],
      ])
      return fromRequestSession(await findRequestSession(deps, caller, headers, toRequestSessionOptions(request)))
    },
  }
}
