import { once } from "node:events"
import http from "node:http"
import http2 from "node:http2"
import { getUserRequest, paths } from "@authwire/test-support/attack/requests.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { describe, expect, test } from "@jest/globals"

type Fields = Record<string, string>
interface Asked {
  method: string
  path: string
  type?: string
  body?: Buffer
}

const json = { method: "POST", path: paths.getUser, type: "application/json", body: Buffer.from('{"id":"x"}') }
const grpc = { method: "POST", path: paths.getUser, type: "application/grpc", body: getUserRequest("x") }
const web = { ...grpc, type: "application/grpc-web+proto" }
const get = (path: string) => ({ method: "GET", path })

const authwire = useAuthwire("sqlite", { args: ["--metrics-addr=127.0.0.1:0"] })

async function overHttp1(url: string, { method, path, type, body }: Asked, fields: Fields): Promise<number> {
  const { ":authority": host, ...others } = fields
  const headers = {
    ...(host !== undefined && { host }),
    ...(type !== undefined && { "content-type": type }),
    ...others,
  }
  const request = http.request(url + path, { method, headers, agent: false })
  request.end(body)
  const [response] = (await once(request, "response")) as [http.IncomingMessage]
  response.resume()
  return response.statusCode ?? 0
}

async function overHttp2(url: string, { method, path, type, body }: Asked, fields: Fields): Promise<number> {
  const session = http2.connect(url)
  const content = type === undefined ? {} : { "content-type": type, te: "trailers" }
  const stream = session.request({ ":method": method, ":path": path, ...content, ...fields })
  stream.end(body)
  const [response] = (await once(stream, "response")) as [http2.IncomingHttpHeaders]
  stream.resume()
  session.close()
  return Number(response[":status"])
}

const [grpcUrl, httpUrl] = [() => authwire.server.grpcUrl, () => authwire.server.httpUrl]

describe.each<[string, typeof overHttp1, () => string, Asked]>([
  ["gRPC", overHttp2, grpcUrl, grpc],
  ["a method that is none", overHttp2, grpcUrl, { ...grpc, path: "/none" }],
  ["gRPC at the HTTP listener", overHttp2, httpUrl, grpc],
  ["gRPC-Web over HTTP/2", overHttp2, httpUrl, web],
  ["Connect over HTTP/2", overHttp2, httpUrl, json],
  ["gRPC-Web over HTTP/1.1", overHttp1, httpUrl, web],
  ["Connect over HTTP/1.1", overHttp1, httpUrl, json],
  ["/v1/authorize over HTTP/1.1", overHttp1, httpUrl, get("/v1/authorize")],
  ["/v1/authorize over HTTP/2", overHttp2, httpUrl, get("/v1/authorize")],
  ["a probe", overHttp1, httpUrl, get("/readyz")],
  ["the metrics", overHttp1, () => new URL(authwire.server.metricsUrl).origin, get("/metrics")],
])("S-9: with --dev, %s", (_, ask, url, asked) => {
  test.each<Fields>([
    { ":authority": "evil.example" },
    { ":authority": "evil.example:8080", origin: "http://evil.example:8080" },
    { ":authority": "localhost.evil.example" },
    { ":authority": "evillocalhost" },
    { ":authority": "0.0.0.0" },
    { origin: "https://evil.example" },
    { origin: "null" },
    { host: "evil.example" },
  ])("is not answered under the names %j", async (fields) => {
    expect(await ask(url(), asked, fields)).toBe(403)
  })

  test.each<Fields>([
    {},
    { ":authority": "localhost:8080", origin: "http://localhost:3000" },
    { ":authority": "shop.localhost", origin: "http://shop.localhost:3000" },
    { ":authority": "[::1]", origin: "https://127.0.0.1:1" },
  ])("is answered under the names %j", async (fields) => {
    expect(await ask(url(), asked, fields)).not.toBe(403)
  })
})

test("without --dev the names do not matter, because every call needs a key", async () => {
  const server = await startServer({ databaseUrl: "sqlite::memory:", keys: true })
  const fields = { ":authority": "auth.example.com", origin: "https://example.com" }
  expect(await overHttp1(server.httpUrl, json, fields)).toBe(401)
  expect(await overHttp2(server.grpcUrl, grpc, fields)).toBe(200)
  await server.stop()
})
