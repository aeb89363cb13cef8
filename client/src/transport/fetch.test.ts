import { UserService } from "@authwire/proto"
import { createConnectRouter, type ServiceImpl } from "@connectrpc/connect"
import { createFetchHandler } from "@connectrpc/connect/protocol"
import { describe, expect, test } from "@jest/globals"
import { AuthwireAdapter, type AuthwireError, type AuthwireOptions, createAuthwireClient } from "../edge.js"

const url = "https://authwire.test"

/** Creates a `fetch` that calls a Connect service, with a log of the requests. */
function fetchOf(implementation: Partial<ServiceImpl<typeof UserService>>) {
  const requests: Request[] = []
  const router = createConnectRouter().service(UserService, implementation)
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, createFetchHandler(handler)]))
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    requests.push(request)
    const handler = handlers.get(new URL(request.url).pathname.replace("/prefix", ""))
    return handler ? handler(request) : new Response("nothing here", { status: 404 })
  }
  return { fetch, requests }
}

const adapterOver = (fetch: unknown, options: Partial<AuthwireOptions> = {}) =>
  AuthwireAdapter({ url, fetch: fetch as typeof globalThis.fetch, ...options })

const failureOf = (call: Promise<unknown>): Promise<AuthwireError> =>
  call.then(
    () => Promise.reject(new Error("nothing was thrown")),
    (error: AuthwireError) => error,
  )

describe("AuthwireAdapter over fetch", () => {
  test("posts binary messages with the key and the deadline, and follows no redirect", async () => {
    const { fetch, requests } = fetchOf({ getUser: ({ id }) => ({ user: { id } }) })
    const adapter = adapterOver(fetch, { url: `${url}/prefix`, apiKey: "k1", timeoutMs: 1_234 })
    expect(await adapter.getUser("u1")).toEqual({ id: "u1", emailVerified: null })
    const [request] = requests
    expect(request).toMatchObject({
      method: "POST",
      url: `${url}/prefix/authwire.v1.UserService/GetUser`,
      redirect: "manual",
    })
    expect(request?.headers.get("content-type")).toBe("application/proto")
    expect(request?.headers.get("authorization")).toBe("Bearer k1")
    expect(request?.headers.get("connect-timeout-ms")).toBe("1234")
  })

  test.each([
    [1_234.5, "1235"],
    [2 ** 31, "99999999"],
  ])("a deadline of %p ms is %s whole ones in the header", async (timeoutMs, header) => {
    const { fetch, requests } = fetchOf({ getUser: ({ id }) => ({ user: { id } }) })
    const client = createAuthwireClient({ url, fetch })
    expect((await client.users.getUser({ id: "u1" }, { timeoutMs })).user).toMatchObject({ id: "u1" })
    expect(requests[0]?.headers.get("connect-timeout-ms")).toBe(header)
  })

  test("S-35: forbids caching, and never makes two equal requests", async () => {
    const { fetch, requests } = fetchOf({ getUser: ({ id }) => ({ user: { id } }) })
    // Two clients make requests, and the application sets a nonce header of its own.
    for (let count = 0; count < 100; count++) {
      const headers = { "x-request-id": "r1", "X-Authwire-Nonce": "n1" }
      await Promise.all([adapterOver(fetch, { headers }).getUser("u1"), adapterOver(fetch, { headers }).getUser("u1")])
    }
    expect(new Set(requests.map(({ cache }) => cache))).toEqual(new Set(["no-store"]))
    expect(new Set(requests.map(({ headers }) => headers.get("x-authwire-nonce"))).size).toBe(200)
    expect(requests[0]?.headers.get("x-request-id")).toBe("r1")
  })

  test("the retry of a read is a different request", async () => {
    const nonces: (string | null)[] = []
    const fetch = async (_: unknown, { headers }: RequestInit) => {
      nonces.push(new Headers(headers).get("x-authwire-nonce"))
      throw new TypeError("fetch failed")
    }
    await failureOf(adapterOver(fetch).getUser("u1"))
    expect(new Set(nonces).size).toBe(2)
  })

  test("a 404 of a proxy is an error", async () => {
    const error = await failureOf(adapterOver(fetchOf({}).fetch).getUser("u1"))
    expect(error.code).toBe("UNIMPLEMENTED")
    expect(error.message).toContain("Is it Authwire that listens at authwire.test?")
  })

  test("a redirect is an error", async () => {
    const error = await failureOf(adapterOver(async () => Response.redirect("https://evil.test/", 307)).getUser("u1"))
    expect(error.message).toBe("getUser: UNKNOWN: HTTP 307")
  })

  test.each([
    [
      "rejects",
      async () => Promise.reject(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") })),
    ],
    [
      "breaks off",
      async () =>
        new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError("terminated")) }), {
          headers: { "content-type": "application/proto" },
        }),
    ],
  ])("a network that %s is UNAVAILABLE; reads and writes are retried", async (_, fail) => {
    let calls = 0
    const fetch = () => {
      calls += 1
      return fail()
    }
    const error = await failureOf(adapterOver(fetch).getUser("u1"))
    expect(error.message).toMatch(
      /^getUser: UNAVAILABLE: cannot reach Authwire at authwire\.test: .*(ECONN|terminated)/,
    )
    expect(calls).toBe(2)
    await failureOf(adapterOver(fetch).createUser({ id: "u1", email: "a", emailVerified: null }))
    expect(calls).toBe(4)
  })

  test("a malformed JSON error of a proxy is thrown with its HTTP status", async () => {
    const headers = { "content-type": "application/json" }
    const error = await failureOf(
      adapterOver(async () => new Response("<html>", { status: 502, headers })).getUser("u1"),
    )
    expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("HTTP 502") })
  })

  test("a response that violates the schema is an error", async () => {
    const headers = { "content-type": "application/proto" }
    const error = await failureOf(adapterOver(async () => new Response("<html>", { headers })).getUser("u1"))
    expect(error).toMatchObject({ code: "INTERNAL", message: expect.stringContaining("authwire.v1.GetUserResponse") })
  })

  test.each([
    ["does not answer", () => new Promise<Response>(() => {})],
    [
      "answers with a body that stalls",
      async () => new Response(new ReadableStream(), { headers: { "content-type": "application/proto" } }),
    ],
  ])("a call ends at its deadline or cancellation even if fetch ignores the signal and %s", async (_, fetch) => {
    const error = await failureOf(adapterOver(fetch, { timeoutMs: 100 }).getUser("u1"))
    expect(error.code).toBe("DEADLINE_EXCEEDED")
    const giveUp = new AbortController()
    const call = createAuthwireClient({ url, fetch }).users.getUser({ id: "u1" }, { signal: giveUp.signal })
    giveUp.abort()
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" })
  })
})
