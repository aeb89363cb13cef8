import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { AuthwireAdapter } from "@authwire/client"
import { AuthwireAdapter as EdgeAdapter } from "@authwire/client/edge"
import { tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

describe.each([
  ["gRPC", "grpcUrl", AuthwireAdapter],
  ["HTTP", "httpUrl", EdgeAdapter],
] as const)("a client of the %s listener reports why it has no connection", (_, listener, makeAdapter) => {
  let only: Socket
  const authwire = useAuthwire("sqlite", { args: ["--max-connections=1"] })
  beforeAll(async () => {
    only = connect(Number(new URL(authwire.server[listener]).port), "127.0.0.1")
    only.on("error", () => {})
    await once(only, "connect")
  })
  afterAll(async () => {
    only.destroy()
  })

  const messageOf = (url: string): Promise<string> =>
    makeAdapter({ url })
      .getUser("nobody")
      .then(
        () => "no error",
        (error: Error) => error.message,
      )

  test.each(["http:", "https:"])("with %s: the limit is named as a cause, after the one of TLS", async (scheme) => {
    expect(await messageOf(authwire.server[listener].replace("http:", scheme))).toMatch(
      /(https:\/\/|certificate).*or the service has reached its limit of connections \(--max-connections\)/,
    )
  })

  test("no listener: the connection is refused, and the error does not mention TLS", async () => {
    const proxy = await tcpProxy(Number(new URL(authwire.server[listener]).port))
    await proxy.close()
    const message = await messageOf(`http://127.0.0.1:${proxy.port}`)
    expect(message).toMatch(/ECONNREFUSED 127\.0\.0\.1:\d+\. Is it running\?$/)
    expect(message).not.toMatch(/TLS|--max-connections/)
  })
})
