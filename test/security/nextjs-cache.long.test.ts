import { createNextApp, hasNextjs, type NextApp, type NextServer } from "@authwire/test-support/applications/nextjs.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const modes = [
  "auto",
  "default-cache",
  "only-cache",
  "force-cache",
  "force-no-store",
  "default-no-store",
  "only-no-store",
] as const
const runtimes = ["nodejs", "edge"] as const
const segments = runtimes.flatMap((runtime) => modes.map((mode) => [runtime, mode] as const))

// `next start` runs twice on one build, because its disk cache survives a restart.
;(hasNextjs() ? describe : describe.skip)("@authwire/client/edge in Next.js", () => {
  const authwire = useAuthwire("sqlite")
  let app: NextApp
  let next: NextServer
  /** A session of the first run for each segment, which is deleted before the second run. */
  const lasting = new Map<string, string>()
  beforeAll(async () => {
    app = createNextApp({ AUTHWIRE_HTTP_URL: authwire.server.httpUrl })
    for (const [runtime, mode] of segments) {
      const settings = `export const runtime = "${runtime}"\nexport const fetchCache = "${mode}"\n`
      app.write(`app/route/${runtime}/${mode}/route.js`, `${settings}export { call as POST } from "../../../call.js"\n`)
      app.write(
        `app/page/${runtime}/${mode}/page.js`,
        `${settings}export { default } from "../../../session-page.js"\n`,
      )
    }
    await app.build()
  }, 300_000)
  afterAll(async () => {
    app.remove()
  })

  describe.each(["first", "second"])("in the %s run", (run) => {
    beforeAll(async () => {
      for (const sessionToken of lasting.values()) await authwire.adapter.deleteSession(sessionToken)
      next = await app.serve()
    })
    afterAll(() => next.stop())

    describe.each(segments)("runtime %s, fetchCache %s", (runtime, mode) => {
      async function call(method: string, ...args: unknown[]) {
        const body = JSON.stringify({ method, args })
        const response = await fetch(`${next.url}/route/${runtime}/${mode}`, { method: "POST", body })
        const { answer, error } = (await response.json()) as { answer?: unknown; error?: string }
        if (error !== undefined) throw new Error(error)
        return answer
      }
      async function page(sessionToken: string) {
        const headers = { cookie: `session=${sessionToken}` }
        const response = await fetch(`${next.url}/page/${runtime}/${mode}`, { headers })
        return /signed in: (?:<!-- -->)?(\w+)/.exec(await response.text())?.[1]
      }

      async function signIn() {
        const id = crypto.randomUUID()
        const sessionToken = crypto.randomUUID()
        const expires = new Date(Date.now() + 3_600_000).toISOString()
        await call("createUser", { id, name: "Ada", email: `${id}@example.com`, emailVerified: null })
        expect(await call("getSessionAndUser", sessionToken)).toBeNull()
        expect(await page(sessionToken)).toBe("nobody")
        await call("createSession", { sessionToken, userId: id, expires })
        expect(await call("getSessionAndUser", sessionToken)).toMatchObject({ user: { id } })
        expect(await page(sessionToken)).toBe("Ada")
        return sessionToken
      }

      if (run === "first")
        test("a session is found", async () => {
          lasting.set(`${runtime} ${mode}`, await signIn())
        })
      else
        test("a session that was revoked between the runs is not found", async () => {
          const sessionToken = lasting.get(`${runtime} ${mode}`) ?? ""
          expect(sessionToken).not.toBe("")
          expect(await call("getSessionAndUser", sessionToken)).toBeNull()
          expect(await page(sessionToken)).toBe("nobody")
        })

      test("S-35: a session that is revoked elsewhere is no longer found", async () => {
        const sessionToken = await signIn()
        await authwire.adapter.deleteSession(sessionToken)
        expect(await call("getSessionAndUser", sessionToken)).toBeNull()
        expect(await page(sessionToken)).toBe("nobody")
      })

      test("a verification token is used once, also by two equal requests", async () => {
        const used = { identifier: `${crypto.randomUUID()}@example.com`, token: crypto.randomUUID() }
        await authwire.adapter.createVerificationToken({ ...used, expires: new Date(Date.now() + 3_600_000) })
        const answers = await Promise.all(Array.from({ length: 5 }, () => call("useVerificationToken", used)))
        answers.push(await call("useVerificationToken", used))
        expect(answers.filter((answer) => answer !== null)).toEqual([expect.objectContaining(used)])
      })
    })
  })
})
