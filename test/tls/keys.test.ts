import http2 from "node:http2"
import https from "node:https"
import { createAuthwireClient } from "@authwire/client"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import {
  authority,
  type Certificate,
  certificate,
  certificateFolder,
  serverCertificate,
  stranger,
} from "@authwire/test-support/processes/certificates.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { afterAll, describe, expect, test } from "@jest/globals"

// As in production, over real TLS: a client certificate is used instead of a key.
describe("S-5: a client certificate", () => {
  const named = (name: string, issuer = authority) => certificate("client", { issuer, names: [name] })
  const shop = named("URI:spiffe://example.com/shop")
  const reader = named("DNS:reader.internal")
  const nobody = named("DNS:nobody.internal")
  const expired = named("DNS:expired.internal")
  const forged = named("URI:spiffe://example.com/shop", stranger)
  const key = staticKey(["users:read"])
  const keyOf = (certificateName: string, scopes: string[], more = {}) =>
    staticKey(scopes, { certificateName, ...more })
  const ofShop = keyOf("URI:spiffe://example.com/shop", ["all"], { tenant: "shop" })
  const ofReader = keyOf("DNS:reader.internal", ["users:read"])
  const ofExpired = keyOf("DNS:expired.internal", ["all"], { expires: "2020-01-01" })
  const folder = certificateFolder(serverCertificate(), authority.cert)
  afterAll(folder.remove)
  const authwire = useAuthwire("sqlite", { keys: [key, ofShop, ofReader, ofExpired], args: folder.args })

  /** Returns the outcomes of a read and of a write. */
  async function outcomes(own: Certificate | undefined) {
    const tls = { ca: authority.cert, ...(own && { cert: own.cert, key: own.key }) }
    const client = createAuthwireClient({ url: authwire.server.grpcUrl, tls })
    const end = async (call: unknown) =>
      await Promise.resolve(call).then(
        () => "OK",
        (error) => error.reason ?? error.code,
      )
    const read = await end(client.adapter.getUser?.("nobody"))
    const write = await end(client.adapter.deleteUser?.("nobody"))
    client.close()
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
    const client = createAuthwireClient({ url: authwire.server.grpcUrl, tls })
    await client.adapter.createUser?.({ id: "of-the-shop", email: "", emailVerified: null })
    client.close()
    const [row] = await authwire.database.query("SELECT tenant FROM users WHERE id = 'of-the-shop'")
    expect(String(row?.tenant)).toBe("shop")
    expect(authwire.server.log()).toMatch(new RegExp(`"key":"${ofShop.id}".*"tenant":"shop"`))
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
        const request = https.request(authwire.server.httpUrl + path, { ...tls, method: "POST", headers, agent: false })
        request.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject)
        request.end(body)
      })
      const session = http2.connect(authwire.server.httpUrl, tls)
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
