import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer, type ServerHttp2Stream } from "node:http2"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { hasTool } from "@authwire/test-support/machine/tools.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, describe, expect, test } from "@jest/globals"

const folder = mkdtempSync(join(tmpdir(), "h2spec-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns the names of the cases that h2spec runs against the server at this port, and of those that fail. */
async function check(name: string, port: string): Promise<{ cases: string[]; failed: string[] }> {
  const file = join(folder, `${name}.xml`)
  const args = ["--host", "127.0.0.1", "--port", port, "--junit-report", file]
  // It ends with 1 if a case fails.
  await new Promise((resolve) => execFile("h2spec", args, resolve))
  // The report contains the bytes of frames and is not always well-formed XML.
  const report = readFileSync(file, "latin1")
  const all = [...report.matchAll(/<testcase package="([^"]+)" classname="([^"]+)"[^>]*>(.*?)<\/testcase>/gs)]
  const named = all.map(([, section, title, result = ""]) => ({ name: `${section}: ${title}`, result }))
  const failed = named.filter(({ result }) => /<(?:error|failure)>/.test(result))
  return { cases: named.map((one) => one.name), failed: failed.map((one) => one.name) }
}

/** Starts a server that consists of Node's HTTP/2 alone. */
async function bareServer(answer: (stream: ServerHttp2Stream) => void) {
  const server = createServer().on("sessionError", () => {})
  server.on("stream", (stream) => {
    stream.on("error", () => {})
    answer(stream)
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  return { port: String((server.address() as AddressInfo).port), close: () => server.close() }
}

// As the listeners answer the GET of h2spec. Some cases depend on whether an answer has a body.
const withoutBody = (stream: ServerHttp2Stream) => stream.respond({ ":status": 405 }, { endStream: true })
const withBody = (stream: ServerHttp2Stream) => {
  stream.respond({ ":status": 404 })
  stream.end("not found")
}

const withH2spec = hasTool("h2spec") ? describe : describe.skip
withH2spec("h2spec fails where Node's HTTP/2 fails by itself, and nowhere else:", () => {
  const authwire = useAuthwire("sqlite")

  test.each([
    { listener: "grpc", answer: withoutBody, own: [] },
    {
      listener: "http",
      answer: withBody,
      // What is not the preface of HTTP/2 is read as HTTP/1.1, and answered so.
      own: ["http2/3.5: Sends invalid connection preface"],
    },
  ] as const)(
    "$listener listener",
    async ({ listener, answer, own }) => {
      const bare = await bareServer(answer)
      const { grpcUrl, httpUrl } = authwire.server
      const { port } = new URL(listener === "grpc" ? grpcUrl : httpUrl)
      const [ours, node] = await Promise.all([check(listener, port), check(`${listener}-bare`, bare.port)])
      bare.close()
      console.info(
        `${listener}: ${ours.failed.length} of ${ours.cases.length} fail, ${node.failed.length} in Node alone`,
      )
      expect(ours.cases.length).toBeGreaterThan(140)
      expect(node.cases).toEqual(ours.cases)
      expect(ours.failed.filter((name) => !node.failed.includes(name))).toEqual(own)
      expect(node.failed).toContain("http2/5.1.1: Sends stream identifier that is numerically smaller than previous")
    },
    120_000,
  )
})
