import { once } from "node:events"
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http"
import https from "node:https"
import { createAuthwireClient } from "@authwire/client"
import { Authorization } from "@authwire/proto/envoy"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import {
  authority,
  type Certificate,
  certificate,
  certificateFolder,
  serverCertificate,
} from "@authwire/test-support/processes/certificates.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, expect, test } from "@jest/globals"

// A gateway that has a client certificate instead of a key.
const gateway = certificate("a gateway", {
  issuer: authority,
  names: ["URI:spiffe://cluster.local/ns/mesh/sa/gateway"],
})
const other = certificate("an application", { issuer: authority, names: ["DNS:app.internal"] })
const operator = staticKey(["all"])
const stranger = staticKey(["all"], { tenant: "acme" })
const app = staticKey(["sessions:read"], { certificateName: "DNS:app.internal" })
const folder = certificateFolder(serverCertificate(), authority.cert)
afterAll(folder.remove)
const authwire = useAuthwire("sqlite", { keys: [operator, stranger, app], args: folder.args })
let cookie: string
/** A key and a session of another tenant. */
let foreign: { key: string; cookie: string }

beforeAll(async () => {
  await createKey(
    authwire.database,
    "sessions:introspect",
    "--certificate-name=URI:spiffe://cluster.local/ns/mesh/sa/gateway",
  )
  cookie = await signIn(operator.text)
  foreign = { key: stranger.text, cookie: await signIn(stranger.text) }
  // A key that is bound to a certificate is known after the service has next read its list of keys.
  await until(async () => (await check(gateway)) !== "Unauthenticated")
})

/** Starts a session in the tenant of a key. Returns its cookie. */
const signIn = async (apiKey: string) => {
  const client = createAuthwireClient({ url: authwire.server.grpcUrl, apiKey, tls: { ca: authority.cert } })
  const user = { id: crypto.randomUUID(), email: "a@example.com", emailVerified: null }
  const { id: userId } = await client.adapter.createUser(user)
  const sessionToken = crypto.randomUUID()
  await client.adapter.createSession({ sessionToken, userId, expires: new Date(Date.now() + 3_600_000) })
  client.close()
  return `authjs.session-token=${sessionToken}`
}
const check = async ({ cert, key }: Pick<Certificate, "cert" | "key">) => {
  const nodeOptions = { ca: authority.cert, cert, key }
  const client = createClient(Authorization, createGrpcTransport({ baseUrl: authwire.server.grpcUrl, nodeOptions }))
  try {
    const { httpResponse } = await client.check({ attributes: { request: { http: { headers: { cookie } } } } })
    return httpResponse.case
  } catch (error) {
    return Code[ConnectError.from(error).code]
  }
}
const authorize = async (client: Pick<Certificate, "cert" | "key"> | undefined, headers: OutgoingHttpHeaders = {}) => {
  const tls = { ca: authority.cert, ...(client && { cert: client.cert, key: client.key }) }
  const options = { ...tls, agent: false as const, headers: { cookie, ...headers } }
  const [response] = (await once(https.get(`${authwire.server.httpUrl}/v1/authorize`, options), "response")) as [
    IncomingMessage,
  ]
  response.resume()
  return response.statusCode
}

test("its certificate authorizes it to ask, over both protocols", async () => {
  expect([await check(gateway), await authorize(gateway)]).toEqual(["okResponse", 200])
})

test("a certificate of another client, with another scope, is rejected: with an error, not with 401 or 403", async () => {
  expect([await check(other), await authorize(other)]).toEqual(["PermissionDenied", 500])
})

test("a header x-api-key of the user does not replace its certificate, nor choose the tenant", async () => {
  expect(await authorize(gateway, { cookie: foreign.cookie })).toBe(401)
  expect(await authorize(gateway, { cookie: foreign.cookie, "x-api-key": foreign.key })).toBe(401)
  expect(await authorize(gateway, { "x-api-key": foreign.key })).toBe(200)
  expect(await authorize(gateway, { "x-api-key": "customer-42" })).toBe(200)
})
