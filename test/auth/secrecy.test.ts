import { inspect } from "node:util"
import { AuthwireAdapter, createAuthwireClient, RemoteJwt } from "@authwire/client"
import { Authorization } from "@authwire/proto/envoy"
import { ServerReflection } from "@authwire/proto/reflection/v1"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { withOtherTag } from "@authwire/test-support/schema/altered.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

// No output may contain a secret or any data of callers: the logs at every level, errors, reflection. The values
// planted below cannot appear there for another reason.
const target = serviceDatabase()

describe("with canaries in every input", () => {
  let database: TestDatabase
  let server: ServerProcess
  const errors: string[] = []
  const canaries: string[] = []
  const canary = (what: string): string => {
    const value = `${what}-canary-${crypto.randomUUID()}`
    canaries.push(value)
    return value
  }
  const secret = canary("secret")
  const collect = async (call: Promise<unknown>) => {
    // As a console would show it, with its causes and all its properties.
    await call.catch((error: unknown) => errors.push(String(error), inspect(error, { depth: 12 })))
  }

  beforeAll(async () => {
    database = await createDatabase(target)
    server = await startServer({
      databaseUrl: database.url,
      args: ["--log-level=trace"],
      env: { AUTH_SECRET: secret },
    })
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })

  test("no output contains a canary", async () => {
    const url = server.grpcUrl
    const client = createAuthwireClient({ url, apiKey: canary("key") })
    const { adapter } = client
    const expires = new Date(Date.now() + 60_000)
    const user = {
      id: canary("id"),
      email: `${canary("email")}@example.com`,
      emailVerified: null,
      name: canary("name"),
      image: canary("image"),
      [canary("property")]: canary("value"),
    }
    const account = {
      userId: user.id,
      type: "oidc" as const,
      provider: canary("provider"),
      providerAccountId: canary("account"),
      access_token: canary("access"),
      refresh_token: canary("refresh"),
      id_token: canary("idtoken"),
    }
    const session = { sessionToken: canary("session"), userId: user.id, expires }
    const link = { identifier: `${canary("identifier")}@example.com`, token: canary("link"), expires }
    const passkey = {
      credentialID: canary("credential"),
      userId: user.id,
      providerAccountId: canary("passkey"),
      credentialPublicKey: canary("publickey"),
      counter: 3,
      credentialDeviceType: "singleDevice",
      credentialBackedUp: false,
    }
    // Twice: the second time nearly all of them fail.
    for (let round = 0; round < 2; round++) {
      await collect(Promise.resolve(adapter.createUser(user)))
      await collect(Promise.resolve(adapter.createUser({ ...user, id: canary("otherid") })))
      await collect(Promise.resolve(adapter.linkAccount(account)))
      await collect(Promise.resolve(adapter.linkAccount({ ...account, userId: canary("nobody") })))
      await collect(Promise.resolve(adapter.createSession(session)))
      await collect(Promise.resolve(adapter.getSessionAndUser(session.sessionToken)))
      await collect(Promise.resolve(adapter.createVerificationToken(link)))
      await collect(Promise.resolve(adapter.createAuthenticator(passkey)))
      await collect(Promise.resolve(adapter.updateAuthenticatorCounter(passkey.credentialID, 1)))
      await collect(Promise.resolve(adapter.updateUser({ id: canary("gone"), name: canary("newname") })))
    }
    await collect(Promise.resolve(adapter.useVerificationToken(link)))
    await collect(Promise.resolve(adapter.getUser(`${canary("long")}${"x".repeat(300)}`)))
    await collect(Promise.resolve(adapter.createUser({ ...user, id: canary("bad"), extra: Number.NaN } as never)))

    // Tokens: issued, read, tampered with, searched in headers; with the service's secret and with the request's.
    const jwt = RemoteJwt({ url })
    const salt = canary("salt")
    const token = await jwt.encode({ token: { sub: canary("subject") }, secret: canary("appsecret"), salt })
    canaries.push(token)
    await collect(jwt.decode({ token, secret: "x", salt }))
    await collect(jwt.decode({ token: withOtherTag(token), secret: "x", salt }))
    await collect(jwt.decode({ token: canary("notoken"), secret: "x", salt }))
    await collect(client.tokens.decode({ token, salt, secrets: [canary("requestsecret")] }))
    const cookie = `${canary("cookie")}=${canary("cookievalue")}; authjs.session-token=${token}`
    await collect(client.tokens.getToken({ headers: [{ name: "cookie", value: cookie }] }))
    await collect(client.introspection.introspect({ headers: [{ name: "cookie", value: cookie }] }))
    const bySession = `authjs.session-token=${session.sessionToken}`
    await collect(client.introspection.introspect({ headers: [{ name: canary("name"), value: bySession }] }))
    await collect(client.introspection.introspect({ headers: [{ name: "cookie", value: bySession }] }))
    client.close()
    const gateway = createClient(Authorization, createGrpcTransport({ baseUrl: url }))
    for (const settings of [{}, { [canary("setting")]: "x" }, { policy: canary("policy") }] as Record<
      string,
      string
    >[]) {
      for (const one of [bySession, cookie]) {
        const http = { path: `/${canary("path")}`, headers: { cookie: one, "x-auth-user-id": canary("forged") } }
        await collect(gateway.check({ attributes: { contextExtensions: settings, request: { http } } }))
        const query = new URLSearchParams(settings)
        const asked = await fetch(`${server.httpUrl}/v1/authorize?${query}`, { headers: { cookie: one } })
        errors.push(asked.status === 200 ? "" : await asked.text())
      }
    }

    // A server that does not exist.
    const nowhere = AuthwireAdapter({ url: "http://127.0.0.1:1", apiKey: canary("key") })
    await collect(Promise.resolve(nowhere.getUserByEmail(user.email)))

    const reflection = createClient(ServerReflection, createGrpcTransport({ baseUrl: url }))
    async function* requests() {
      yield { messageRequest: { case: "fileContainingSymbol" as const, value: "authwire.v1.TokenService" } }
    }
    const described: string[] = []
    for await (const answer of reflection.serverReflectionInfo(requests())) {
      if (answer.messageResponse.case !== "fileDescriptorResponse") throw new Error("no files")
      described.push(
        ...answer.messageResponse.value.fileDescriptorProto.map((file) => Buffer.from(file).toString("latin1")),
      )
    }

    expect(errors.length).toBeGreaterThan(30)
    expect(described.join("").length).toBeGreaterThan(1000)
    expect(server.output()).toContain("authwire.v1.UserService/CreateUser")
    const everything = [server.output(), ...errors, ...described].join("\n")
    expect(canaries.filter((value) => everything.includes(value))).toEqual([])
  })
})
