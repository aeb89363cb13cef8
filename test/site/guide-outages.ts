import { createAuthwireClient } from "@authwire/client"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { expect } from "@jest/globals"

/** A service that can be stopped, and started again at the same address. */
export async function stoppableService() {
  const database = await createDatabase("sqlite")
  const address = `127.0.0.1:${await freePort()}`
  let server: ServerProcess | undefined
  const service = {
    url: `http://${address}`,
    sessions: () => database.query("SELECT provider, user_agent, ip FROM sessions"),
    /** Signs a new user in, and returns the token of the session. */
    async newSession(name: string) {
      const { adapter, close } = createAuthwireClient({ url: service.url })
      const email = `${name.toLowerCase()}@example.com`
      const user = await adapter.createUser({ id: crypto.randomUUID(), name, email, emailVerified: null })
      const [sessionToken, expires] = [crypto.randomUUID(), new Date(Date.now() + 3_600_000)]
      await adapter.createSession({ sessionToken, userId: user.id, expires })
      close()
      return sessionToken
    },
    async start() {
      server = await startServer({ databaseUrl: database.url, args: [`--grpc-addr=${address}`] })
    },
    async stop() {
      await server?.stop()
      server = undefined
    },
    async remove() {
      await service.stop()
      await database.drop()
    },
  }
  await service.start()
  return service
}

/** The application of a guide, which serves. */
export interface GuideApplication {
  readonly url: string
  /** The path of Auth.js. */
  readonly auth: string
  /** The path of a page that shows the user. */
  readonly home: string
  output(): string
}

/** Checks what a browser gets in the application of a guide while the service is down, in a sign-in and afterwards. */
export async function expectOutagePages(
  { url, auth, home, output }: GuideApplication,
  service: Awaited<ReturnType<typeof stoppableService>>,
): Promise<void> {
  const cookies = new Map<string, string>()
  async function visit(address: string, form?: Record<string, string>): Promise<Response> {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ")
    const headers = { accept: "text/html", cookie, origin: url, "user-agent": "Guide/1" }
    const posted = form && { method: "POST", body: new URLSearchParams(form) }
    const answer = await fetch(address, { headers, redirect: "manual", ...posted })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    return answer
  }
  async function expectPage(answer: Response, text: string) {
    const { status, headers } = answer
    expect([status, headers.get("content-type"), headers.get("retry-after")]).toEqual([
      503,
      "text/html; charset=utf-8",
      "2",
    ])
    expect(await answer.text()).toContain(text)
  }

  // SvelteKit checks the origin of forms itself, and its Auth.js has no tokens for them.
  const csrf = await visit(`${url}${auth}/csrf`)
  const token = csrf.ok ? ((await csrf.json()) as Record<string, string>) : {}
  const asked = await visit(`${url}${auth}/signin/email`, { email: "guide@example.com", ...token })
  expect(asked.headers.get("location")).toContain("/verify-request")
  const link = () => /^Sign in: (\S+)$/m.exec(output())?.[1]
  await until(() => link() !== undefined)
  // The link has the host by which the application knows itself.
  const linked = new URL(String(link()))
  const follow = () => visit(`${url}${linked.pathname}${linked.search}`)

  await service.stop()
  await expectPage(await follow(), "Please try again in a moment.")
  await service.start()
  let followed = await follow()
  await until(async () => {
    if (followed.status !== 503) return true
    followed = await follow()
    return false
  })
  expect([followed.status, followed.headers.get("location")]).toEqual([302, expect.not.stringContaining("error")])
  expect(await (await visit(`${url}${home}`)).text()).toContain("guide@example.com")
  expect(await service.sessions()).toMatchObject([
    { user_agent: "Guide/1", provider: "email", ip: expect.stringMatching(/127\.0\.0\.1$|^::1$/) },
  ])

  await service.stop()
  await expectPage(await visit(`${url}${home}`), "You have not been signed out.")
  await expectPage(await visit(`${url}${auth}/session`), "You have not been signed out.")
}
