import http2 from "node:http2"
import https from "node:https"
import { createAuthwireClient } from "@authwire/client"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import {
  authority,
  type Certificate,
  type CertificateFolder,
  certificate,
  certificateFolder,
  serverCertificate,
  stranger,
} from "@authwire/test-support/processes/certificates.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

// As in production, over real TLS: a client certificate is used instead of a key.
describe("S-5: a client certificate", () => {
  let database: TestDatabase
  let server: ServerProcess
  let folder: CertificateFolder
  const named = (name: string, issuer = authority) => certificate("client", { issuer, names: [name] })
  const shop = named("URI:spiffe://example.com/shop")
  const reader = named("DNS:reader.internal")
  const nobody = named("DNS:nobody.internal")
  const expired = named("DNS:expired.internal")
  const forged = named("URI:spiffe://example.com/shop", stranger)
  const key = staticKey(["users:read"])
  const entry = (id: string, certificateName: string, scopes: string[], more = {}) => ({
    ...{ id, name: id, scopes, certificateName },
    ...more,
  })

  beforeAll(async () => {
    database = await createDatabase("sqlite")
    folder = certificateFolder(serverCertificate(), authority.cert)
    const keys = [
      entry("aaaaaaaaaaaaaaa1", "URI:spiffe://example.com/shop", ["all"], { tenant: "shop" }),
      entry("aaaaaaaaaaaaaaa2", "DNS:reader.internal", ["users:read"]),
      entry("aaaaaaaaaaaaaaa3", "DNS:expired.internal", ["all"], { expires: "2020-01-01" }),
      key.entry,
    ]
    const env = { AUTHWIRE_API_KEYS: JSON.stringify(keys) }
    server = await startServer({ databaseUrl: database.url, keys: false, env, args: folder.args })
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
    folder.remove()
  })

  /** Returns the outcomes of a read and of a write. */
  async function outcomes(client: Certificate | undefined) {
    const tls = { ca: authority.cert, ...(client && { cert: client.cert, key: client.key }) }
    const authwire = createAuthwireClient({ url: server.grpcUrl, tls })
    const end = async (call: unknown) =>
      await Promise.resolve(call).then(
        () => "OK",
        (error) => error.reason ?? error.code,
      )
    const read = await end(authwire.adapter.getUser?.("nobody"))
    const write = await end(authwire.adapter.deleteUser?.("nobody"))
    authwire.close()
    return [read, write]
  }

  test("authenticates as the key that has its name, with its scopes", async () => {
    expect(await outcomes(shop)).toEqual(["OK", "OK"])
    expect(await outcomes(reader)).toEqual(["OK", "SCOPE_MISSING"])
  })

  test("does not authenticate with another name, nor without a certificate", async () => {
    expect(await outcomes(nobody)).toEqual(["API_KEY_MISSING", "API_KEY_MISSING"])
    expect(await outcomes(undefined)).toEqual(["API_KEY_MISSING", "API_KEY_MISSING"])
    expect((await outcomes(expired))[0]).toMatch(/^API_KEY_/)
    expect(await outcomes(forged)).toEqual(["UNAVAILABLE", "UNAVAILABLE"])
  })

  test("belongs to the tenant of its key, and the log names that key", async () => {
    const tls = { ca: authority.cert, cert: shop.cert, key: shop.key }
    const authwire = createAuthwireClient({ url: server.grpcUrl, tls })
    await authwire.adapter.createUser?.({ id: "of-the-shop", email: "", emailVerified: null })
    authwire.close()
    const [row] = await database.query("SELECT tenant FROM users WHERE id = 'of-the-shop'")
    expect(String(row?.tenant)).toBe("shop")
    expect(server.log()).toMatch(/"key":"aaaaaaaaaaaaaaa1".*"tenant":"shop"/)
  })

  const path = "/authwire.v1.UserService/GetUser"
  const body = '{"id": "nobody"}'

  test("is accepted at the HTTP listener too, over HTTP/1.1 and HTTP/2", async () => {
    for (const [client, status] of [
      [shop, 404],
      [reader, 404],
      [nobody, 401],
      [undefined, 401],
    ] as const) {
      const tls = { ca: authority.cert, ...(client && { cert: client.cert, key: client.key }) }
      const headers = { "content-type": "application/json" }
      const overHttp1 = await new Promise((resolve, reject) => {
        const request = https.request(server.httpUrl + path, { ...tls, method: "POST", headers, agent: false })
        request.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject)
        request.end(body)
      })
      const session = http2.connect(server.httpUrl, tls)
      const overHttp2 = await new Promise((resolve, reject) => {
        const stream = session.request({ ":method": "POST", ":path": path, ...headers })
        stream.on("response", (answer) => resolve(answer[":status"])).on("error", reject)
        stream.resume().end(body)
      })
      session.close()
      expect([overHttp1, overHttp2]).toEqual([status, status])
    }
  })
})
