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

interface Result {
  cases: string[]
  failed: string[]
}

/** Returns the names of the cases that h2spec runs against the server at this port, and of those that fail. */
async function check(name: string, port: string): Promise<Result> {
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

/**
 * Runs h2spec several times at once. Some cases send one frame after another and depend on whether Node's answer to the
 * first comes between them: they fail now and then, also in Node alone. A fault of the listener fails every time.
 */
async function checks(name: string, port: string): Promise<{ cases: string[]; ever: string[]; always: string[] }> {
  const results = await Promise.all(Array.from({ length: 5 }, (_, run) => check(`${name}-${run}`, port)))
  const [{ cases, failed }] = results as [Result, ...Result[]]
  const always = failed.filter((one) => results.every((result) => result.failed.includes(one)))
  return { cases, ever: results.flatMap((result) => result.failed), always }
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
  ] as const)("$listener listener", async ({ listener, answer, own }) => {
    const bare = await bareServer(answer)
    const { grpcUrl, httpUrl } = authwire.server
    const { port } = new URL(listener === "grpc" ? grpcUrl : httpUrl)
    const [ours, node] = await Promise.all([checks(listener, port), checks(`${listener}-bare`, bare.port)])
    bare.close()
    console.info(`${listener}: ${ours.always.length} of ${ours.cases.length} fail, ${node.always.length} in Node alone`)
    expect(ours.cases.length).toBeGreaterThan(140)
    expect(node.cases).toEqual(ours.cases)
    expect(ours.always.filter((name) => !node.ever.includes(name))).toEqual(own)
    expect(node.always).toContain("http2/5.1.1: Sends stream identifier that is numerically smaller than previous")
  })
})
