import { spawn } from "node:child_process"
import http2 from "node:http2"
import net from "node:net"
import { text } from "node:stream/consumers"
import tls from "node:tls"
import { createAuthwireClient } from "@authwire/client"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { authority, certificateFolder, serverCertificate } from "@authwire/test-support/processes/certificates.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, describe, expect, test } from "@jest/globals"

const sha256 = (pem: string) => pem.replace(/-----[^-]+-----|\s/g, "")

describe("S-4: both transports with TLS", () => {
  const certificate = serverCertificate()
  const folder = certificateFolder(certificate)
  afterAll(folder.remove)
  const authwire = useAuthwire("sqlite", { args: [...folder.args, "--handshake-timeout-ms=3000"] })
  const port = (transport: Listener) =>
    Number(new URL(transport === "grpc" ? authwire.server.grpcUrl : authwire.server.httpUrl).port)
  /** Returns the result of a handshake, or the code of its error. */
  const handshake = (transport: Listener, options: tls.ConnectionOptions) =>
    new Promise<{ protocol: string | null; alpn: string | false | null } | string>((resolve) => {
      const socket = tls.connect({ host: "127.0.0.1", port: port(transport), ca: authority.cert, ...options })
      socket.once("secureConnect", () => {
        resolve({ protocol: socket.getProtocol(), alpn: socket.alpnProtocol })
        socket.destroy()
      })
      socket.once("error", (error: Error & { code?: string }) => resolve(error.code ?? error.message))
    })

  describe.each(["grpc", "http"] as const)("the %s listener", (transport) => {
    test("supports TLS 1.3, and 1.2 for clients without 1.3", async () => {
      const ALPNProtocols = ["h2"]
      expect(await handshake(transport, { ALPNProtocols })).toEqual({ protocol: "TLSv1.3", alpn: "h2" })
      const older = await handshake(transport, { ALPNProtocols, maxVersion: "TLSv1.2" })
      expect(older).toEqual({ protocol: "TLSv1.2", alpn: "h2" })
    })

    test("rejects TLS 1.1, and the ciphers that HTTP/2 forbids", async () => {
      const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const
      expect(await handshake(transport, old)).toBe("ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION")
      const weak = { maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-SHA256" } as const
      expect(await handshake(transport, weak)).toMatch(/HANDSHAKE_FAILURE/)
    })

    test("closes a connection without TLS", async () => {
      const socket = net.connect(port(transport), "127.0.0.1")
      socket.end("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
      expect((await received(socket)).toString("latin1")).not.toContain("HTTP/")
    })

    test("closes connections that are silent: before, during and after the handshake", async () => {
      const slow = net.connect(port(transport), "127.0.0.1")
      slow.write(Buffer.from([0x16, 3, 1, 2, 0, 1]))
      const done = { host: "127.0.0.1", port: port(transport), ca: authority.cert, ALPNProtocols: ["h2"] }
      await Promise.all([net.connect(port(transport), "127.0.0.1"), slow, tls.connect(done)].map(received))
    })
  })

  test("only the HTTP listener supports protocols other than HTTP/2", async () => {
    const http1 = { ALPNProtocols: ["http/1.1"] }
    expect(await handshake("http", http1)).toMatchObject({ alpn: "http/1.1" })
    expect(await handshake("grpc", http1)).toMatch(/NO_APPLICATION_PROTOCOL/)
    const none = tls.connect({ host: "127.0.0.1", port: port("grpc"), ca: authority.cert })
    none.write("GET / HTTP/1.1\r\n\r\n")
    expect(await received(none)).toHaveLength(0)
  })

  describe("an address with an IP", () => {
    /** Connects in a process of its own, because Node warns once in a process. Returns its output. */
    const connect = async (url: string, options: { serverName?: string; host?: string } = {}) => {
      const { host = "127.0.0.1", serverName } = options
      const target = url.replace("HOST", host).replace("PORT", `${port("grpc")}`)
      const script = `
        const client = require("@authwire/client").createAuthwireClient(${JSON.stringify({
          url: target,
          tls: { ca: authority.cert, serverName },
        })})
        client.adapter.getUser("nobody")
          .then((user) => console.log(user), (error) => console.log(error.message))
          .finally(() => client.close())`
      const child = spawn(process.execPath, ["--eval", script], { stdio: ["ignore", "pipe", "pipe"] })
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
      return { stdout, stderr }
    }
    const found = { stdout: "null\n", stderr: "" }

    test.each(["https://HOST:PORT", "dns:///HOST:PORT"])("%s: Node warns of nothing", async (url) => {
      expect(await connect(url)).toEqual(found)
      expect(await connect(url, { host: "localhost", serverName: "127.0.0.1" })).toEqual(found)
    })

    test("is compared with the certificate", async () => {
      const { stdout } = await connect("https://HOST:PORT", { serverName: "127.0.0.2" })
      expect(stdout).toContain("certificate")
      expect((await connect("https://HOST:PORT", { serverName: "ip-address.invalid" })).stdout).toContain("certificate")
    })
  })

  test("the negotiated protocol must be used", async () => {
    const socket = tls.connect({ host: "127.0.0.1", port: port("http"), ca: authority.cert, ALPNProtocols: ["h2"] })
    socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
    expect(await received(socket)).toHaveLength(0)
  })

  test("answer calls, over HTTP/1.1 too, and use the certificate", async () => {
    const client = createAuthwireClient({ url: authwire.server.grpcUrl, tls: { ca: authority.cert } })
    expect(await client.adapter.getUser("nobody")).toBeNull()
    client.close()
    const session = http2.connect(authwire.server.httpUrl, { ca: authority.cert })
    const stream = session.request({ ":path": "/healthz" })
    const [headers] = (await new Promise((resolve) => stream.once("response", (...args) => resolve(args)))) as [
      http2.IncomingHttpHeaders,
      ...unknown[],
    ]
    expect(headers[":status"]).toBe(200)
    expect(headers["strict-transport-security"]).toMatch(/max-age=\d{8}/)
    const raw = (session.socket as tls.TLSSocket).getPeerCertificate().raw.toString("base64")
    expect(raw).toBe(sha256(certificate.cert))
    session.close()
    const socket = tls.connect({ host: "127.0.0.1", port: port("http"), ca: authority.cert })
    socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    expect((await received(socket)).toString()).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*\r\nok\n\r\n/)
  })
})

test("authwire serve does not start with a wrong pair or without a file: one line names the flag and the rule", async () => {
  const [right, other] = [serverCertificate(), serverCertificate()]
  const folder = certificateFolder({ cert: right.cert, key: other.key })
  const args = ["serve", "--database-url=sqlite::memory:", "--migrate", "--log-level=silent", ...folder.args]
  const start = (...more: string[]) => run([...args, ...more], { AUTH_SECRET: testSecret })
  expect(await start()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^authwire: --tls-key: .+ is not the key of the first certificate\n$/),
  })
  expect(await start(`--tls-client-ca=${folder.clientCaFile}`)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^authwire: --tls-client-ca: .+ca\.crt cannot be read \(ENOENT\)\n$/),
  })
  folder.remove()
})

type Listener = "grpc" | "http"

/** Returns all data until the other side closes the connection. */
async function received(socket: net.Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on("data", (chunk) => chunks.push(chunk))
  // A reset also ends it.
  socket.on("error", () => {})
  await new Promise((resolve) => socket.once("close", resolve))
  return Buffer.concat(chunks)
}
