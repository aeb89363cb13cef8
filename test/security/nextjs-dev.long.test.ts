import { createNextApp, hasNextjs, type NextApp } from "@authwire/test-support/applications/nextjs.js"
import { type TcpProxy, tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

/** The file of an application that creates the adapter. */
const auth = (revision: number) => `
import { Auth } from "@auth/core"
import { AuthwireAdapter } from "@authwire/client"

const adapter = AuthwireAdapter({ url: process.env.AUTHWIRE_URL })

export async function GET({ headers }) {
  const request = new Request("http://localhost/auth/session", { headers })
  const options = { adapter, basePath: "/auth", secret: "a secret", trustHost: true, providers: [] }
  const session = await (await Auth(request, options)).json()
  return Response.json({ revision: ${revision}, name: session?.user?.name })
}
`

;(hasNextjs() ? describe : describe.skip)("next dev", () => {
  let authwire: Authwire
  let proxy: TcpProxy
  let app: NextApp
  beforeAll(async () => {
    authwire = await startAuthwire("sqlite")
    proxy = await tcpProxy(Number(new URL(authwire.server.grpcUrl).port))
    app = createNextApp({ AUTHWIRE_URL: `http://127.0.0.1:${proxy.port}` })
  })
  afterAll(async () => {
    app.remove()
    await proxy.close()
    await authwire.close()
  })

  test("50 edits of the file with the adapter open at most three connections", async () => {
    const [id, sessionToken] = [crypto.randomUUID(), crypto.randomUUID()]
    await authwire.adapter.createUser({ id, name: "Ada", email: "ada@example.com", emailVerified: null })
    await authwire.adapter.createSession({ sessionToken, userId: id, expires: new Date(Date.now() + 3_600_000) })
    app.write("app/auth.js", auth(0))
    app.write("app/session/route.js", 'export { GET } from "../auth.js"\n')
    const next = await app.serve("dev")
    try {
      const ask = async () => {
        const headers = { cookie: `authjs.session-token=${sessionToken}` }
        const response = await fetch(`${next.url}/session`, { headers })
        return (await response.json()) as { revision: number; name?: string }
      }
      expect(await ask()).toEqual({ revision: 0, name: "Ada" })
      for (let revision = 1; revision <= 50; revision++) {
        app.write("app/auth.js", auth(revision))
        await until(async () => {
          const answer = await ask()
          expect(answer.name).toBe("Ada")
          return answer.revision === revision
        })
      }
      expect(proxy.accepted).toBeLessThanOrEqual(10)
    } finally {
      await next.stop()
    }
  }, 300_000)
})
