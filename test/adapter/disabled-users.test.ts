import type { AuthConfig } from "@auth/core"
import { throwOutages } from "@authwire/client"
import { SessionLimitAction, SessionPolicyService } from "@authwire/proto"
import { authApp } from "@authwire/test-support/applications/auth-app.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { describe, expect, test } from "@jest/globals"

const target = serviceDatabase()
const origin = "http://localhost"
const denied = `${origin}/auth/error?error=AccessDenied`

describe.each(["database", "jwt"] as const)("a disabled user of an application with %s sessions", (strategy) => {
  const authwire = useAuthwire(target)

  /** An application and the names of the errors that Auth.js has logged. */
  function start(callbacks: AuthConfig["callbacks"] = {}) {
    const logged: string[] = []
    const { adapter, jwt } = authwire.client
    const logger = { error: ({ name }: Error) => void logged.push(name) }
    const config = { adapter, jwt, session: { strategy }, secret: "a secret of the application", callbacks, logger }
    const { providers: _, ...rest } = throwOutages({ ...config, providers: [] }, { sessionTimeoutMs: 30_000 })
    return { app: authApp(origin, rest), logged }
  }
  async function newUser() {
    const email = `${crypto.randomUUID()}@example.com`
    const { user } = await authwire.client.users.createUser({ email })
    return { email, id: String(user?.id) }
  }

  test("is signed out, and cannot sign in until it is enabled", async () => {
    const asked: unknown[] = []
    const { app, logged } = start({ signIn: ({ email }) => Boolean(asked.push(email?.verificationRequest)) })
    const { email, id } = await newUser()
    expect(await app.signIn(email)).toBe(origin)
    expect((await app.session())?.user).toMatchObject({ email })
    await authwire.client.users.disableUser({ id, reason: "spam" })
    // A JWT is decrypted in the application, which does not ask whether the user is disabled.
    if (strategy === "database") expect(await app.session()).toBeNull()
    await app.signOut()
    asked.length = 0
    expect(await app.signIn(email)).toBe(denied)
    expect(await app.session()).toBeNull()
    // The answer to the request of a link does not tell it to a stranger.
    expect([asked, logged]).toEqual([[true], ["AccessDenied"]])
    await authwire.client.users.enableUser({ id })
    expect(await app.signIn(email)).toBe(origin)
    expect((await app.session())?.user).toMatchObject({ email })
  })

  if (strategy === "database")
    test("that has as many sessions as the session policy allows", async () => {
      const policies = createClient(SessionPolicyService, createGrpcTransport({ baseUrl: authwire.server.grpcUrl }))
      const updateMask = { paths: ["max_sessions", "at_limit"] }
      await policies.updateSessionPolicy({ maxSessions: 1, atLimit: SessionLimitAction.REJECT_NEW, updateMask })
      const { email } = await newUser()
      expect(await start().app.signIn(email)).not.toBe(denied)
      const { app, logged } = start()
      expect(await app.signIn(email)).toBe(denied)
      expect([await app.session(), logged]).toEqual([null, ["AccessDenied"]])
      await policies.updateSessionPolicy({ updateMask })
    })

  if (strategy === "database")
    test("that is disabled during the sign-in", async () => {
      const { email, id } = await newUser()
      const { app, logged } = start({
        signIn: async (params) => {
          if (params.email === undefined) await authwire.client.users.disableUser({ id })
          return true
        },
      })
      expect(await app.signIn(email)).toBe(denied)
      expect([await app.session(), logged]).toEqual([null, ["AccessDenied"]])
    })
})
