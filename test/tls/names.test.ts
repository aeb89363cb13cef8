import https from "node:https"
import { createAuthwireClient } from "@authwire/client"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import {
  authority,
  certificate,
  certificateFolder,
  serverCertificate,
} from "@authwire/test-support/processes/certificates.js"
import { openService } from "@authwire/test-support/processes/service.js"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { pino } from "pino"
import { grpcTransport } from "../../client/src/transport/grpc.js"
import type { CallOptions } from "../../server/src/rpc/call.js"
import { openHttpListener } from "../../server/src/transport/connect/http.js"
import { openGrpcListener } from "../../server/src/transport/grpc/grpc.js"
import type { Listener } from "../../server/src/transport/listener/listener.js"
import { watchCertificate } from "../../server/src/transport/tls/certificate.js"
import { namesOf } from "../../server/src/transport/tls/tls.js"

// One of the names would look like two others if it were split at commas.
const names = ["DNS:app.test", "URI:spiffe://a/b, DNS:admin.test", "email:a@b.test", 'URI:urn:"x"']
const mine = certificate("an application", { issuer: authority, names: [...names, "IP:127.0.0.1"] })
const nameless = certificate("admin.test", { issuer: authority, names: [] })

describe("the router gets the names of a verified certificate", () => {
  const resources = new AsyncDisposableStack()
  let begun: CallOptions[] = []
  const transports: Record<string, Listener> = {}
  const trust = { ca: authority.cert }
  const withMine = { ...trust, cert: mine.cert, key: mine.key }

  beforeAll(async () => {
    const database = await createStoreDatabase("sqlite")
    resources.defer(() => database.drop())
    const folder = certificateFolder(serverCertificate(), authority.cert)
    resources.defer(folder.remove)
    const log = pino({ level: "silent" })
    const { certFile: cert, keyFile: key, clientCaFile: clientCa } = folder
    const source = watchCertificate({ cert, key, clientCa }, log)
    resources.defer(source.stop)
    const { router: real, transport } = openService(await database.openStore())
    const listening = real.services.map(({ desc, methods }) => ({
      desc,
      methods: methods.map((method) => ({
        ...method,
        begin: (one: CallOptions) => {
          begun.push(one)
          return method.begin(one)
        },
      })),
    }))
    const options = { ...transport, router: { ...real, services: listening }, certificate: source }
    transports.grpc = await openGrpcListener(options)
    transports.http = await openHttpListener(options)
    for (const transport of Object.values(transports)) {
      resources.defer(async () => {
        transport.stopAccepting()
        await transport.closed(0)
      })
    }
  })
  afterAll(() => resources.disposeAsync())
  beforeEach(() => {
    begun = []
  })
  const urlOf = (transport: string) => `https://127.0.0.1:${transports[transport]?.address.port}`
  const ofCalls = () => begun.map((one) => one.connection?.certificateNames)

  describe.each(["grpc", "http"])("at the %s listener", (name) => {
    const call = async (tls: object) => {
      const transport = grpcTransport({ url: urlOf(name), tls })
      const client = createAuthwireClient({ url: urlOf(name), transport })
      await client.adapter.getUser("nobody")
      transport.close()
    }

    test("all its names, each as it is in the certificate", async () => {
      await call(withMine)
      expect(ofCalls()).toEqual([names])
    })

    test("for the stream of a pipeline", async () => {
      const client = createAuthwireClient({ url: urlOf(name), tls: withMine })
      await client.adapter.getUser("nobody")
      client.close()
      expect(ofCalls()[0]).toEqual(names)
    })

    test("not its common name", async () => {
      await call({ ...trust, cert: nameless.cert, key: nameless.key })
      expect(ofCalls()).toEqual([[]])
    })

    test("none without a certificate, also after a client that has one", async () => {
      await call(withMine)
      await call(trust)
      expect(ofCalls()).toEqual([names, undefined])
    })
  })

  test("over HTTP/1.1", async () => {
    const once = (options: object) =>
      new Promise((resolve, reject) => {
        const url = `${urlOf("http")}/authwire.v1.UserService/GetUser`
        const headers = { "content-type": "application/json", connection: "close" }
        const request = https.request(url, { method: "POST", agent: false, headers, ...options })
        request.once("error", reject)
        request.once("response", (response) => response.resume().once("end", resolve))
        request.end('{"id": "nobody"}')
      })
    await once(withMine)
    await once(trust)
    expect(ofCalls()).toEqual([names, undefined])
  })
})

test.each([
  [undefined, []],
  ["", []],
  ["DNS:a.test, DNS:b.test", ["DNS:a.test", "DNS:b.test"]],
  ["IP Address:127.0.0.1, othername:<unsupported>, DirName:CN = a, DNS:a", ["DNS:a"]],
  ['DNS:"a, DNS:b", email:c', ["DNS:a, DNS:b", "email:c"]],
  ['URI:"\\"\\u0041\\""', ['URI:"A"']],
  ['DNS:a, DNS:"b', []],
  ['DNS:"a"DNS:b', []],
  ['DNS:"\\x"', []],
  ["DNS:a,DNS:b", []],
  ["DNS:a, ", ["DNS:a"]],
])("the names in %j are %j", (subjectAltName, expected) => {
  expect(namesOf(subjectAltName)).toEqual(expected)
})
