import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { command, createKey } from "@authwire/test-support/processes/keys.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { createRemoteJWKSet, jwtVerify } from "jose"
import { check, type Question, toCheckRequest, ways } from "./ask.js"
import { cookie, signedIn } from "./service.js"

// Signed assertions of who a user is, which a gateway adds and a backend verifies without a call.
const issuer = "https://authwire.example"
const header = "x-authwire-identity"
const settings = { identity: "jwt", audience: "orders" }

describe("the assertion of a gateway", () => {
  const authwire = useAuthwire(serviceDatabase(), { args: [`--identity-issuer=${issuer}/`] })
  let gateway: string
  let keySet: ReturnType<typeof createRemoteJWKSet>
  beforeAll(async () => {
    gateway = (await createKey(authwire.database, "sessions:introspect")).text
    keySet = createRemoteJWKSet(new URL("/.well-known/jwks.json", authwire.server.httpUrl))
  })

  describe.each(ways)("by $name", (way) => {
    const ask = (question: Question, key = gateway) => way.ask(authwire.server, key, question)
    const assertionOf = async (question: Question, key?: string) => (await ask(question, key)).told[header] as string
    const verified = async (assertion: string, tenant = "default") =>
      (await jwtVerify(assertion, keySet, { issuer: `${issuer}/${tenant}`, audience: "orders" })).payload

    test("names the user and the session, for its audience, for at most 60 seconds", async () => {
      const { headers, told, userId, email } = await signedIn(authwire.client)
      const answer = await ask({ headers, settings })
      expect(answer).toEqual({ status: 200, told: { ...told, [header]: expect.any(String) } })
      const assertion = answer.told[header] as string
      const payload = await verified(assertion)
      expect(payload).toEqual({
        ...{ iss: `${issuer}/default`, aud: "orders", sub: userId, sid: told["x-auth-session-id"], email },
        ...{ email_verified: false, iat: expect.any(Number), exp: (payload.iat as number) + 60 },
      })
      const ofOther = await assertionOf({ headers, settings: { ...settings, audience: "x" } })
      await expect(verified(ofOther)).rejects.toThrow('unexpected "aud" claim value')
    })

    test("ends with the session", async () => {
      const { userId } = await signedIn(authwire.client)
      const expires = new Date(Math.ceil(Date.now() / 1000 + 20) * 1000)
      const sessionToken = crypto.randomUUID()
      await authwire.adapter.createSession({ sessionToken, userId, expires })
      const payload = await verified(await assertionOf({ headers: { cookie: `${cookie}=${sessionToken}` }, settings }))
      expect(payload.exp).toBe(expires.getTime() / 1000)
    })

    test("of another tenant has another issuer, whatever its users and audience are", async () => {
      const tenant = `other-${way.name.toLowerCase().replaceAll(/[^a-z]/g, "")}`
      await command(authwire.database, "tenants", "create", tenant)
      const client = authwire.clientOf(await createKey(authwire.database, "all", `--tenant=${tenant}`))
      await client.users.countUsers({})
      const { headers } = await signedIn(client)
      const key = (await createKey(authwire.database, "sessions:introspect", `--tenant=${tenant}`)).text
      const assertion = await assertionOf({ headers, settings }, key)
      await expect(verified(assertion)).rejects.toThrow('unexpected "iss" claim value')
      expect(await verified(assertion, tenant)).toMatchObject({ aud: "orders" })
    })

    test("is given only to a request with a user that the policy lets through, and a client's is always removed", async () => {
      const forged = { [header]: "forged", x_authwire_identity: "forged", "x-authwire_identity": "forged" }
      const { headers } = await signedIn(authwire.client)
      expect(await ask({ headers: forged, settings })).toEqual({ status: 401, told: {} })
      expect(await ask({ headers: forged, settings: { ...settings, policy: "optional" } })).toEqual({
        status: 200,
        told: {},
      })
      expect(
        (await ask({ headers: { ...headers, ...forged }, settings: { ...settings, roles: "admin" } })).status,
      ).toBe(403)
      expect(Object.keys((await ask({ headers: { ...headers, ...forged } })).told)).not.toContain(header)
      await verified(await assertionOf({ headers: { ...headers, ...forged }, settings }))
    })
  })

  test("a client's header is removed by Envoy under every name that an application may read", async () => {
    const names = [header, "x_authwire_identity", "x-authwire_identity"]
    const headers = Object.fromEntries(names.map((name) => [name, "forged"]))
    const request = toCheckRequest({ headers, settings: { policy: "optional" } })
    const { httpResponse } = await check(authwire.server, gateway, request)
    expect(httpResponse).toMatchObject({
      case: "okResponse",
      value: { headersToRemove: expect.arrayContaining(names) },
    })
  })

  test("the key is changed by a command, once in 20 minutes, or at once", async () => {
    const env = { AUTHWIRE_DATABASE_URL: authwire.database.url, AUTH_SECRET: testSecret }
    const rotate = (...args: string[]) => run(["keys", "rotate-signing", ...args], env)
    expect(await rotate()).toMatchObject({ code: 0, stdout: expect.stringContaining("it signs in 20 minutes") })
    const stderr = expect.stringContaining("the next key is published already, and signs from 2")
    expect(await rotate()).toMatchObject({ code: 1, stderr })
    expect(await rotate("--now")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("the keys before are deleted"),
    })
    expect(await authwire.rows("SELECT number FROM signing_keys")).toEqual([{ number: 3 }])
  })
})
