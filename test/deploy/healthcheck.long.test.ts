import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { check, root } from "@authwire/test-support/machine/deploy.js"
import { describe, expect, test } from "@jest/globals"

const healthcheck = (address: string) =>
  check(process.execPath, [`${root}/deploy/healthcheck.js`], { env: { AUTHWIRE_HTTP_ADDR: address } })

describe("deploy/healthcheck.js", () => {
  test.each([
    ["0.0.0.0", "0.0.0.0"],
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.5", "127.0.0.5"],
    ["localhost", "localhost"],
    ["::1", "[::1]"],
    ["::", "[::]"],
    // Only one of the addresses of the loopback interface answers.
    ["127.0.0.1", "[::]"],
    ["::1", "[::]"],
    ["127.0.0.1", "0.0.0.0"],
  ])("asks the service that listens on %s, and is told %s", async (host, named) => {
    let status = 200
    const paths: (string | undefined)[] = []
    const server = createServer((request, response) => {
      paths.push(request.url)
      response.writeHead(status).end()
    })
    server.listen(0, host)
    await once(server, "listening")
    try {
      const address = `${named}:${(server.address() as AddressInfo).port}`
      expect(await healthcheck(address)).toEqual({ code: 0, output: "" })
      status = 503
      expect(await healthcheck(address)).toEqual({ code: 1, output: "" })
      expect(paths).toEqual(["/readyz", "/readyz"])
    } finally {
      server.close()
    }
  })

  test("says that it needs the HTTP listener", async () => {
    const { code, output } = await healthcheck("off")
    expect([code, output]).toEqual([1, expect.stringMatching(/^AUTHWIRE_HTTP_ADDR: is off.*\n$/)])
  })
})
