import type { AuthwireClient, AuthwireError } from "@authwire/client"

// Runs in every runtime, so it imports no modules at run time, and uses only globals that all runtimes have.

/** The common exports of `@authwire/client` and `@authwire/client/edge`. */
export interface ClientModule {
  createAuthwireClient(options: { url: string; timeoutMs?: number }): AuthwireClient
  AuthwireError: typeof AuthwireError
}

export interface SuiteOptions {
  /** The URL of the service. */
  readonly url: string
  /** A URL at which nothing listens. */
  readonly unreachableUrl: string
  /** A URL whose listener never responds. */
  readonly silentUrl: string
  /** Part of every key and address, because several runs may share a service. */
  readonly run: string
}

/** The result of each step, as JSON. */
export type Transcript = Record<string, unknown>

/** Calls every method of the adapter, and those of `jwt`, against a real service. */
export async function runSuite(module: ClientModule, options: SuiteOptions): Promise<Transcript> {
  const { run, url } = options
  const { AuthwireError } = module
  const clients: AuthwireClient[] = []
  const connect = (at: { url: string; timeoutMs?: number }) => {
    const client = module.createAuthwireClient(at)
    clients.push(client)
    return client
  }
  const { adapter, jwt } = connect({ url })
  const transcript: Transcript = {}
  const step = async (name: string, work: () => Promise<unknown>) => {
    transcript[name] = await work().then(plain, (error) => describe(error, AuthwireError))
  }

  const id = `${run}-ada`
  const key = { provider: "example", providerAccountId: `${run}-account` }
  const sessionToken = `${run}-session`
  const credentialID = `${run}-credential`
  const verification = { identifier: `${run}@example.com`, token: "t0k3n" }
  const image = `data:image/png;base64,${"A".repeat(100_000)}`

  await step("createUser", () =>
    adapter.createUser({
      id,
      email: `${run}.Ada@Example.com`,
      emailVerified: new Date("2024-02-29T23:59:59.987Z"),
      name: "Zoë 🦊",
      ...{
        role: "admin",
        level: -0.5,
        nothing: null,
        nested: { list: [1, "two", null, { three: [true] }], empty: {} },
      },
    }),
  )
  await step("createUser, nulls", () =>
    adapter.createUser({ id: `${run}-null`, email: null as never, emailVerified: null, name: null }),
  )
  await step("createUser, taken", () => adapter.createUser({ id, email: "", emailVerified: null }))
  await step("createUser, a Date among the extra properties", () =>
    adapter.createUser({ id: "x", email: "", emailVerified: null, ...{ since: new Date(0) } }),
  )
  await step("getUser", () => adapter.getUser(id))
  await step("getUser, nobody", () => adapter.getUser(`${run}-nobody`))
  await step("getUserByEmail", () => adapter.getUserByEmail(`${run}.ADA@example.COM`))
  await step("updateUser", () => adapter.updateUser({ id, name: null, image }).then(({ name }) => ({ name })))
  await step("updateUser, a large image is kept", async () => (await adapter.getUser(id))?.image === image)
  await step("updateUser, cleared", () => adapter.updateUser({ id, image: null, emailVerified: null }))
  await step("updateUser, nobody", () => adapter.updateUser({ id: `${run}-nobody`, name: "x" }))

  await step("linkAccount", () =>
    adapter.linkAccount({
      ...key,
      userId: id,
      type: "oidc",
      access_token: "ä".repeat(3),
      token_type: "bearer",
      expires_at: 1_893_456_000,
      scope: "openid",
      authorization_details: [{ type: "payment", limits: [1, 2.5] }],
      "not-before-policy": 0,
    }),
  )
  await step("getAccount", () => adapter.getAccount(key.providerAccountId, key.provider))
  await step("getUserByAccount", async () => (await adapter.getUserByAccount(key))?.id)
  await step("unlinkAccount", async () => (await adapter.unlinkAccount(key))?.userId)
  await step("unlinkAccount, again", () => adapter.unlinkAccount(key))

  await step("createSession", () =>
    adapter.createSession({ sessionToken, userId: id, expires: new Date("2099-12-31T23:59:59.001Z") }),
  )
  await step("getSessionAndUser", async () => {
    const found = await adapter.getSessionAndUser(sessionToken)
    return { session: found?.session, userId: found?.user.id }
  })
  await step("updateSession", () =>
    adapter.updateSession({ sessionToken, expires: new Date("2100-01-01T00:00:00.5Z") }),
  )
  await step("deleteSession", () => adapter.deleteSession(sessionToken))
  await step("getSessionAndUser, deleted", () => adapter.getSessionAndUser(sessionToken))
  await step("updateSession, deleted", () => adapter.updateSession({ sessionToken }))

  await step("createVerificationToken", () =>
    adapter.createVerificationToken({ ...verification, expires: new Date("2099-06-07T08:09:10.111Z") }),
  )
  await step("useVerificationToken, 20 at once", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => adapter.useVerificationToken(verification)))
    return answers.filter((answer) => answer !== null)
  })

  await step("createAuthenticator", () =>
    adapter.createAuthenticator({
      credentialID,
      userId: id,
      providerAccountId: "passkey",
      credentialPublicKey: "pQECAyYgASFYIA==",
      counter: 4_294_967_294,
      credentialDeviceType: "multiDevice",
      credentialBackedUp: true,
      transports: null,
    }),
  )
  await step("getAuthenticator", async () => (await adapter.getAuthenticator(credentialID))?.counter)
  await step("listAuthenticatorsByUserId", async () =>
    (await adapter.listAuthenticatorsByUserId(id)).map((one) => one.credentialID),
  )
  await step("updateAuthenticatorCounter", async () => {
    return (await adapter.updateAuthenticatorCounter(credentialID, 4_294_967_295)).counter
  })
  await step("updateAuthenticatorCounter, lower", () => adapter.updateAuthenticatorCounter(credentialID, 1))

  await step("200 calls at once", async () => {
    const ids = Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? id : `${run}-null`))
    const users = await Promise.all(ids.map((one) => adapter.getUser(one)))
    return users.filter((user, index) => user?.id === ids[index]).length
  })
  await step("deleteUser", async () => (await adapter.deleteUser(id))?.id)
  await step("deleteUser, again", () => adapter.deleteUser(id))

  await step("jwt", async () => {
    const token = await jwt.encode({ token: { sub: id, roles: ["a", "b"] }, salt: "salt", secret: "", maxAge: 60 })
    const { sub, roles } = ((await jwt.decode({ token, salt: "salt", secret: "" })) ?? {}) as Record<string, unknown>
    return { sub, roles }
  })

  await step("nobody listens", () => connect({ url: options.unreachableUrl }).adapter.getUser(id))
  await step("nobody answers", () => connect({ url: options.silentUrl, timeoutMs: 300 }).adapter.getUser(id))
  for (const client of clients) client.close()
  return transcript
}

/** Converts values that JSON cannot represent unambiguously. */
function plain(value: unknown): unknown {
  if (value === undefined) return { undefined: true }
  if (Object.is(value, -0)) return { minusZero: true }
  if (value instanceof Date) return { date: value.toISOString() }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]))
}

function describe(error: unknown, type: typeof AuthwireError): unknown {
  if (!(error instanceof type)) return { unexpected: String(error) }
  const { code, reason, method, fieldViolations } = error
  return { code, ...(reason && { reason }), method, fields: fieldViolations.map(({ field }) => field) }
}
