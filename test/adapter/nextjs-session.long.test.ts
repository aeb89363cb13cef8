import { createRequire } from "node:module"
import { AuthwireAdapter } from "@authwire/client"
import { withAuthwire } from "@authwire/client/nextjs"
import { hasNextExample } from "@authwire/test-support/applications/nextjs.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { beforeAll, describe, expect, test } from "@jest/globals"

// The real NextAuth that the example has installed. Reading a session from a request needs no Next.js server.
const nextExample = createRequire(new URL("../../examples/nextjs/package.json", import.meta.url))
const sessionTimeoutMs = 30_000

;(hasNextExample() ? describe : describe.skip)("getSession(request) of @authwire/client/nextjs", () => {
  const authwire = useAuthwire("sqlite")
  let NextAuth: Parameters<typeof withAuthwire>[0]
  const sessionToken = crypto.randomUUID()

  beforeAll(async () => {
    NextAuth = (await import(nextExample.resolve("next-auth"))).default
    const id = crypto.randomUUID()
    await authwire.adapter.createUser({ id, name: "Ada", email: "ada@example.com", emailVerified: null })
    await authwire.adapter.createSession({ sessionToken, userId: id, expires: new Date(Date.now() + 3_600_000) })
  })

  const config = () => ({
    adapter: AuthwireAdapter({ url: authwire.server.grpcUrl }),
    session: { strategy: "database" as const },
    providers: [],
    secret: "a secret of the application",
    trustHost: true,
    logger: { error() {} },
  })

  describe.each(["of an object", "of a function, which makes it for each request"])(
    "with the configuration %s",
    (how) => {
      let getSession: (request: Request) => Promise<{ user?: { name?: string } } | null>
      beforeAll(() => {
        const given = how === "of an object" ? config() : async () => config()
        getSession = withAuthwire(NextAuth, given, { sessionTimeoutMs }).getSession
      })
      const nameBy = async (url: string, cookieName: string, headers: Record<string, string> = {}) => {
        const request = new Request(url, { headers: { cookie: `${cookieName}=${sessionToken}`, ...headers } })
        return (await getSession(request))?.user?.name
      }
      const [plain, secure] = ["authjs.session-token", "__Secure-authjs.session-token"]
      const byProxy = { "x-forwarded-proto": "https", "x-forwarded-host": "shop.example" }

      test("over HTTPS the cookie has the prefix __Secure-", async () => {
        expect(await nameBy("https://shop.example/api/me", secure)).toBe("Ada")
        expect(await nameBy("https://shop.example/api/me", plain)).toBeUndefined()
      })

      test("also behind a proxy that terminates TLS", async () => {
        expect(await nameBy("http://127.0.0.1:3000/api/me", secure, byProxy)).toBe("Ada")
        expect(await nameBy("http://127.0.0.1:3000/api/me", plain, byProxy)).toBeUndefined()
      })

      test("over HTTP the cookie has no prefix", async () => {
        expect(await nameBy("http://127.0.0.1:3000/api/me", plain)).toBe("Ada")
        expect(await nameBy("http://127.0.0.1:3000/api/me", secure)).toBeUndefined()
      })
    },
  )
})
