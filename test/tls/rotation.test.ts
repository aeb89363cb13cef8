import { X509Certificate } from "node:crypto"
import http2 from "node:http2"
import https from "node:https"
import tls from "node:tls"
import { createAuthwireClient } from "@authwire/client"
import { createDatabase, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import {
  authority,
  type Certificate,
  certificateFolder,
  serverCertificate,
} from "@authwire/test-support/processes/certificates.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import { grpcTransport } from "../../client/src/transport/grpc.js"

const trust = { ca: authority.cert }

// All at the same time, because they wait for the next reading of the files.
test.concurrent("S-6: certificates change under load, and no call fails", async () => {
  const database = await createDatabase(serviceDatabase())
  let current = serverCertificate()
  const folder = certificateFolder(current)
  const args = [...folder.args, "--log-level=warn"]
  const server = await startServer({ databaseUrl: database.url, args })
  const before = http2.connect(server.httpUrl, trust)
  const load = startLoad(server)

  for (let i = 0; i < 3; i++) {
    current = serverCertificate()
    folder.swap(current)
    await untilServed(server, current)
    current = serverCertificate()
    folder.write(current)
    await untilServed(server, current)
  }

  // Each kind of caller made some calls, including those that open a new connection for each call.
  await until(() => Object.values(load.calls).every((count) => count > 20))
  expect(await load.stop()).toEqual([])
  // The connection from before the first change is still open.
  expect(before.destroyed).toBe(false)
  const stream = before.request({ ":path": "/healthz" })
  expect(await new Promise((resolve) => stream.once("response", (headers) => resolve(headers[":status"])))).toBe(200)
  before.close()
  await server.stop()
  await database.drop()
  folder.remove()
}, 120_000)

test.concurrent("files that do not match are logged once, and the previous certificate stays in use until they match", async () => {
  const database = await createDatabase("sqlite")
  const first = serverCertificate()
  const folder = certificateFolder(first)
  const server = await startServer({ databaseUrl: database.url, args: folder.args })
  const complaints = () => server.output().match(/"msg":"the TLS files cannot be used[^\n]*/g) ?? []
  const second = serverCertificate()
  folder.write({ cert: second.cert, key: first.key })
  await until(async () => complaints().length === 1)
  expect(server.output()).toMatch(/tls\.key","reason":"is not the key of the first certificate"/)
  expect(await served(server)).toEqual([first, first].map(fingerprint))

  folder.write({ cert: second.cert.slice(0, 100), key: second.key })
  await until(async () => complaints().length === 2)
  expect(await served(server)).toEqual([first, first].map(fingerprint))

  folder.remove()
  await until(async () => complaints().length === 3)
  expect(await served(server)).toEqual([first, first].map(fingerprint))
  await server.stop()
  await database.drop()
})

const fingerprint = ({ cert }: Pick<Certificate, "cert">) => new X509Certificate(cert).fingerprint256

/** Returns the fingerprints of the certificates that the listeners use for new connections. */
function served(server: ServerProcess): Promise<string[]> {
  return Promise.all(
    [server.grpcUrl, server.httpUrl].map(
      (url) =>
        new Promise<string>((resolve, reject) => {
          const options = { host: "127.0.0.1", port: Number(new URL(url).port), ALPNProtocols: ["h2"], ...trust }
          const socket = tls.connect(options, () => {
            resolve(socket.getPeerCertificate().fingerprint256)
            socket.destroy()
          })
          socket.once("error", reject)
        }),
    ),
  )
}

/** Resolves when both listeners use a certificate. */
async function untilServed(server: ServerProcess, certificate: Certificate): Promise<void> {
  await until(async () => (await served(server)).every((one) => one === fingerprint(certificate)))
}

/** Makes calls over all transports, one after another each, until it is stopped. */
function startLoad(server: ServerProcess) {
  const options = { url: server.grpcUrl, tls: trust }
  const failures: unknown[] = []
  const calls: Record<string, number> = {}
  const lasting = createAuthwireClient({ ...options, connections: 2 })
  const unary = grpcTransport(options)
  const lastingUnary = createAuthwireClient({ url: server.grpcUrl, transport: unary })
  let stopping = false
  const loop = async (name: string, call: () => Promise<unknown>) => {
    calls[name] = 0
    while (!stopping) {
      await call().then(
        () => {
          calls[name] = (calls[name] ?? 0) + 1
        },
        (error: unknown) => failures.push(`${name}: ${error}`),
      )
    }
  }
  const loops = [
    loop("lasting pipeline", () => lasting.adapter.getUser("nobody")),
    loop("lasting unary", () => lastingUnary.adapter.getUser("nobody")),
    loop("new pipeline", async () => {
      const client = createAuthwireClient(options)
      await client.adapter.getUser("nobody").finally(client.close)
    }),
    loop("new unary", async () => {
      const transport = grpcTransport(options)
      const client = createAuthwireClient({ url: server.grpcUrl, transport })
      await client.adapter.getUser("nobody").finally(transport.close)
    }),
    loop("new HTTP/1.1", () => getUserOverHttp(server.httpUrl)),
  ]
  return {
    /** The number of calls of each kind. */
    calls,
    /** @returns The errors. */
    async stop() {
      stopping = true
      await Promise.all(loops)
      lasting.close()
      unary.close()
      return failures
    },
  }
}

function getUserOverHttp(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" }
    const request = https.request(`${url}/authwire.v1.UserService/GetUser`, {
      method: "POST",
      agent: false,
      headers,
      ...trust,
    })
    request.once("error", reject)
    request.once("response", (response) => {
      response.resume()
      if (response.statusCode === 404) response.once("end", resolve)
      else reject(new Error(`status ${response.statusCode}`))
    })
    request.end('{"id": "nobody"}')
  })
}
