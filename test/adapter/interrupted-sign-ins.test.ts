import { Auth, type AuthConfig, skipCSRFCheck } from "@auth/core"
import { AuthwireAdapter, RemoteJwt, throwOutages } from "@authwire/client"
import { withAuthwire } from "@authwire/client/nextjs"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const key = staticKey(["all"])
const origin = "http://localhost"
const browser = { accept: "text/html" }

/** What `NextAuth(config)` gives of the parts that withAuthwire changes, over the real Auth.js. */
const nextAuth = (config: AuthConfig) => {
  const handle = (request: Request) => Auth(request, config)
  return { auth: async () => null, handlers: { GET: handle, POST: handle } }
}

describe.each(["database", "jwt"] as const)("an outage during a sign-in, strategy %s", (strategy) => {
  let database: TestDatabase
  let server: ServerProcess
  let link = ""
  let apiKey = key.text
  const port = freePort()

  const start = async () =>
    startServer({ databaseUrl: database.url, keys: [key], args: [`--grpc-addr=127.0.0.1:${await port}`] })
  const config = (): AuthConfig => ({
    adapter: AuthwireAdapter({ url: server.grpcUrl, apiKey }),
    jwt: RemoteJwt({ url: server.grpcUrl, apiKey }),
    session: { strategy },
    basePath: "/auth",
    secret: "a secret of the application",
    trustHost: true,
    skipCSRFCheck,
    logger: { error() {}, warn() {} },
    providers: [
      {
        id: "email",
        type: "email",
        name: "Email",
        from: "no-reply@example.com",
        maxAge: 3600,
        options: {},
        sendVerificationRequest({ url }) {
          link = url
        },
      },
    ],
  })
  const asking = (email: string, headers: Record<string, string> = browser) =>
    new Request(`${origin}/auth/signin/email`, { method: "POST", headers, body: new URLSearchParams({ email }) })
  const following = () => new Request(link, { headers: browser })
  const handlers = () => withAuthwire(nextAuth, config()).handlers

  beforeAll(async () => {
    database = await createDatabase("sqlite")
    server = await start()
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })

  test("S-30: is answered with a page that says so, and afterwards the same link signs in", async () => {
    expect((await Auth(asking("ada@example.com"), config())).status).toBe(302)
    await server.stop()
    const outage = { name: "SessionUnavailable", cause: { code: "UNAVAILABLE" } }
    await expect(Auth(following(), throwOutages(config()))).rejects.toMatchObject(outage)
    const answer = await handlers().GET(following() as never)
    expect([answer.status, answer.headers.get("retry-after"), answer.headers.getSetCookie()]).toEqual([503, "2", []])
    expect(await answer.text()).toMatch(/Please try again in a moment\. <a href="">Try again</)
    server = await start()
    const signedIn = await handlers().GET(following() as never)
    expect(signedIn.headers.get("location")).toBe(origin)
    expect(signedIn.headers.getSetCookie()).toContainEqual(expect.stringMatching(/^authjs\.session-token=./))
  })

  test("the request of a link is answered so too, and a script is led to the sign-in page", async () => {
    await server.stop()
    const answer = await handlers().POST(asking("grace@example.com") as never)
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('<a href="/auth/signin">')])
    const script = asking("grace@example.com", { origin, "x-auth-return-redirect": "1" })
    const { url } = (await (await handlers().POST(script as never)).json()) as { url: string }
    server = await start()
    const page = await Auth(new Request(url), config())
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("Unable to sign in.")])
  })

  test("a wrong API key is a fault of the configuration, and not reported as one that passes", async () => {
    apiKey = "awk_wrong_key"
    try {
      const answer = await handlers().POST(asking("zoe@example.com") as never)
      expect(answer.headers.get("location")).toContain("error=Configuration")
    } finally {
      apiKey = key.text
    }
  })
})
