import { createServer, type Server } from "node:http"
import { Auth, type AuthConfig } from "@auth/core"
import { type AuthwireClient, createAuthwireClient, throwOutages } from "@authwire/client"
import { createAuthwireClient as createFetchClient } from "@authwire/client/edge"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { decode, encode } from "@authwire/token"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const secret = "a secret of the application"

describe("a call fails in the callback `jwt` of the application", () => {
  const authwire = useAuthwire("sqlite")
  /** A proxy in front of a service that is gone. */
  let proxy: Server
  let status = 503
  let behindProxy: AuthwireClient

  beforeAll(async () => {
    proxy = createServer((_, response) => response.writeHead(status, { "content-type": "text/html" }).end("<html>"))
    behindProxy = createFetchClient({ url: `http://127.0.0.1:${await listen(proxy)}` })
  })
  afterAll(async () => {
    proxy.close()
  })

  /** Reads the session of a user while the callback makes a call. */
  const page = async (call: () => Promise<unknown>) => {
    const token = await encode({ token: { sub: "ada", name: "Ada" }, secret, salt: sessionCookie })
    const auth = throwOutages<AuthConfig>({
      session: { strategy: "jwt" },
      jwt: { encode, decode },
      providers: [],
      basePath: "/auth",
      secret,
      trustHost: true,
      logger: { error() {} },
      callbacks: {
        async jwt({ token }) {
          await call()
          return token
        },
      },
    })
    const headers = { cookie: `${sessionCookie}=${token}` }
    return Auth(new Request("http://localhost/auth/session", { headers }), auth)
  }
  const client = (options: object = {}) => createAuthwireClient({ url: authwire.server.grpcUrl, ...options })
  const outage = { name: "SessionUnavailable" }
  const user = { id: "ada", name: "Ada" }

  test.each([400, 401, 403, 404, 429, 500, 502, 503])("a proxy answers %p: an outage", async (answer) => {
    status = answer
    await expect(page(() => behindProxy.adapter.updateUser(user))).rejects.toMatchObject(outage)
    await expect(page(() => behindProxy.users.getUser(user))).rejects.toMatchObject(outage)
  })

  test("the client is closed: an outage", async () => {
    const { users, adapter, close } = client()
    close()
    await expect(page(() => users.getUser(user))).rejects.toMatchObject(outage)
    await expect(page(() => adapter.updateUser(user))).rejects.toMatchObject(outage)
  })

  test("the service answers that the user does not exist: the user is signed out", async () => {
    const { users, adapter, close } = client()
    for (const call of [() => users.getUser(user), () => adapter.updateUser(user)]) {
      const response = await page(call)
      expect([response.status, await response.json()]).toEqual([200, null])
      expect(response.headers.getSetCookie()).toContainEqual(expect.stringMatching(`^${sessionCookie}=; Max-Age=0`))
    }
    close()
  })
})
