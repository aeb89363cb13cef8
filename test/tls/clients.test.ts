import { execFile } from "node:child_process"
import tls from "node:tls"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { AuthwireError, createAuthwireClient, type TlsOptions } from "@authwire/client"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import {
  authority,
  type Certificate,
  certificate,
  certificateFolder,
  serverCertificate,
  stranger,
} from "@authwire/test-support/processes/certificates.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { grpcTransport } from "../../client/src/transport/grpc.js"

const mine = certificate("an application", { issuer: authority })
const theirs = certificate("somebody", { issuer: stranger })
const late = certificate("an application", { issuer: authority, to: Date.now() - 1000 })

describe("a client whose TLS does not match the service's reports the problem and the remedy", () => {
  const resources = new AsyncDisposableStack()
  let database: TestDatabase
  const urls: Record<string, { grpc: string; http: string }> = {}
  let authorityFile: string

  beforeAll(async () => {
    database = await createDatabase("sqlite")
    resources.defer(() => database.drop())
    const folders = {
      tls: certificateFolder(serverCertificate()),
      expired: certificateFolder(serverCertificate({ to: Date.now() - 1000 })),
      misnamed: certificateFolder(serverCertificate({ names: ["DNS:other.test", "IP:127.0.0.9"] })),
      mtls: certificateFolder(serverCertificate(), authority.cert),
      trusted: certificateFolder(authority),
    }
    for (const folder of Object.values(folders)) resources.defer(folder.remove)
    authorityFile = folders.trusted.certFile
    const start = async (name: string, args: string[]) => {
      const server = await startServer({ databaseUrl: database.url, args })
      resources.defer(async () => void (await server.stop()))
      urls[name] = { grpc: server.grpcUrl, http: server.httpUrl }
    }
    // The first one creates the tables.
    await start("plain", [])
    const { trusted: _, ...secured } = folders
    await Promise.all(Object.entries(secured).map(([name, { args }]) => start(name, args)))
    for (const [name, options] of Object.entries({
      old: { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" },
      required: { requestCert: true, ca: authority.cert },
      required12: { requestCert: true, ca: authority.cert, maxVersion: "TLSv1.2" },
    } as Record<string, tls.TlsOptions>)) {
      const server = tls.createServer({ ...serverCertificate(), ALPNProtocols: ["h2", "http/1.1"], ...options })
      server.on("tlsClientError", (_, socket) => socket.destroy())
      server.on("secureConnection", (socket) => socket.on("error", () => {}))
      const url = `https://127.0.0.1:${await listen(server)}`
      resources.defer(() => void server.close())
      urls[name] = { grpc: url, http: url }
    }
  })
  afterAll(() => resources.disposeAsync())

  const trusting = { ca: authority.cert }
  const scheme = (from: string, to: string) => ({ from, to })
  const [secure, open] = [scheme("http:", "https:"), scheme("https:", "http:")]
  interface Case {
    name: string
    server: string
    tls?: TlsOptions | undefined
    url?: { from: string; to: string }
    says: RegExp
    /** Whether it is tested with fetch too, which reports some problems in other words. */
    fetch?: boolean
  }
  const untrusted =
    /TLS: .* not signed by a CA that this client trusts; .*(option tls\.ca|NODE_EXTRA_CA_CERTS) .*certificate of its CA\.$/
  const noTls = /TLS: the service does not use TLS at this address; the option url must begin with http:\/\/.*\.$/
  const needsTls = /if the service uses TLS, the option url must begin with https:\/\/.*Is it running\?$/
  const old = /TLS: the service supports only TLS versions before 1\.2/
  const expired = /TLS: .* has expired or is not yet valid; renew it at the service\.$/
  const misnamed = /TLS: .* for another host name; .*in the option url.*\.$/
  const otherName = /TLS: .* for another host name; .*option tls\.serverName to one\.$/
  const required = /service (requires|may require) a client certificate.*(tls\.cert and tls\.key|option fetch)/
  const required12 = /TLS: the service requires a client certificate/
  const rejected = /may reject the client's certificate \(the options tls\.cert and tls\.key\)/
  const withKey = ({ cert, key }: Certificate) => ({ ...trusting, cert, key })
  const named = { ...trusting, serverName: "other.test" }
  const cases: Case[] = [
    { name: "an authority that it does not know", server: "tls", tls: {}, says: untrusted, fetch: true },
    { name: "another authority", server: "tls", tls: { ca: stranger.cert }, says: untrusted },
    { name: "an expired certificate", server: "expired", tls: trusting, says: expired },
    { name: "another name", server: "misnamed", tls: trusting, says: misnamed, fetch: true },
    { name: "another serverName", server: "tls", tls: named, says: otherName },
    { name: "http:// to a port of TLS", server: "tls", url: open, says: needsTls, fetch: true },
    { name: "https:// to a port without", server: "plain", tls: trusting, url: secure, says: noTls, fetch: true },
    { name: "a service that speaks TLS 1.1", server: "old", tls: trusting, says: old },
    { name: "no certificate where one is required", server: "required", tls: trusting, says: required, fetch: true },
    { name: "none where one is required, with TLS 1.2", server: "required12", tls: trusting, says: required12 },
    { name: "a certificate that does not verify", server: "mtls", tls: withKey(theirs), says: rejected },
    { name: "a certificate that has expired", server: "mtls", tls: withKey(late), says: rejected },
  ]
  const urlOf = ({ server, url }: Case, transport: "grpc" | "http") => {
    const address = (urls[server] as { grpc: string; http: string })[transport]
    return url === undefined ? address : address.replace(url.from, url.to)
  }
  const tlsOf = (one: Case) => (urlOf(one, "grpc").startsWith("https:") ? { tls: one.tls } : {})

  const timeoutMs = 40_000
  function expectHelp(error: unknown, one: Case, since: number): void {
    expect(error).toBeInstanceOf(AuthwireError)
    const { code, message } = error as AuthwireError
    expect(code).toBe("UNAVAILABLE")
    expect(message).toMatch(one.says)
    // No internal messages of OpenSSL.
    expect(message).not.toMatch(/SSL routines|\n/)
    // The call is not retried until the deadline.
    expect(performance.now() - since).toBeLessThan(timeoutMs / 2)
  }

  test.each(cases)("in the pipeline: $name", async (one) => {
    const since = performance.now()
    const client = createAuthwireClient({ url: urlOf(one, "grpc"), timeoutMs, ...tlsOf(one) })
    expectHelp(await client.adapter.getUser("nobody").catch((error: unknown) => error), one, since)
    client.close()
  })

  test.each(cases)("in separate calls, at the HTTP listener: $name", async (one) => {
    const since = performance.now()
    const transport = grpcTransport({ url: urlOf(one, "http"), ...tlsOf(one) })
    const client = createAuthwireClient({ url: urlOf(one, "http"), timeoutMs, transport })
    expectHelp(await client.adapter.getUser("nobody").catch((error: unknown) => error), one, since)
    transport.close()
  })

  // In a separate process, because fetch's trusted authorities are set per process, and its connections are kept.
  test.each(cases.filter(({ fetch }) => fetch))("over fetch: $name", async (one) => {
    const program = `
      import { AuthwireAdapter } from "@authwire/client/edge"
      await AuthwireAdapter({ url: process.argv[1] }).getUser("nobody").catch((error) => console.log(JSON.stringify(error)))`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", program, urlOf(one, "http")],
      {
        cwd: fileURLToPath(new URL("../..", import.meta.url)),
        env: { ...process.env, NODE_OPTIONS: "", ...(one.tls?.ca && { NODE_EXTRA_CA_CERTS: authorityFile }) },
      },
    )
    const { code, message } = JSON.parse(stdout) as { code: string; message: string }
    expect(code).toBe("UNAVAILABLE")
    expect(message).toMatch(one.says)
    expect(message).not.toMatch(/SSL routines|\n/)
  })

  test.each([
    ["without a certificate, where it need not have one", trusting],
    ["with one that verifies", { ...trusting, cert: mine.cert, key: mine.key }],
    ["with the name of the service's certificate as serverName", { ...trusting, serverName: "localhost" }],
  ])("%s, a client is answered at both transports", async (_, options) => {
    for (const url of Object.values(urls.mtls as object) as string[]) {
      const client = createAuthwireClient({ url, tls: options })
      expect(await client.adapter.getUser("nobody")).toBeNull()
      client.close()
    }
  })
})
