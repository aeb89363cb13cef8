import { describe, expect, test } from "@jest/globals"
import { grpcTarget } from "../transport/grpc-target.js"
import { endpointsOf, systemResolve } from "./endpoints.js"

const tls = { serverName: "other.example.com" }

describe("endpointsOf", () => {
  test("http:// and https:// have one endpoint, and their name is not resolved here", async () => {
    const resolve = () => Promise.reject(new Error("asked"))
    expect(await endpointsOf(grpcTarget({ url: "http://127.0.0.1:50051" }), resolve)).toEqual([
      { target: "dns:127.0.0.1:50051", settings: { "grpc.enable_http_proxy": 0 } },
    ])
    const [endpoint, ...others] = await endpointsOf(
      grpcTarget({ url: "https://authwire.example.com:50051", tls }),
      resolve,
    )
    expect(others).toEqual([])
    expect(endpoint?.settings).toMatchObject({ "grpc.ssl_target_name_override": "other.example.com" })
    expect(endpoint?.settings).not.toHaveProperty(["grpc.enable_http_proxy"])
  })

  test("dns:/// has one endpoint for each IPv4 and IPv6 address of the name", async () => {
    const asked: string[] = []
    const resolve = async (host: string) => {
      asked.push(host)
      return ["10.0.0.1", "fd00::1", "10.0.0.1", "10.0.0.2"]
    }
    const endpoints = await endpointsOf(grpcTarget({ url: "dns:///authwire.example.com:50051" }), resolve)
    expect(asked).toEqual(["authwire.example.com"])
    expect(endpoints.map(({ target }) => target)).toEqual([
      "ipv4:10.0.0.1:50051",
      "ipv6:[fd00::1]:50051",
      "ipv4:10.0.0.2:50051",
    ])
  })

  test("each address is addressed by the name, and its certificate must be valid for the name", async () => {
    const url = "dns:///authwire.example.com:50051"
    const [byName] = await endpointsOf(grpcTarget({ url }), async () => ["10.0.0.1"])
    expect(byName?.settings).toMatchObject({
      "grpc.default_authority": "authwire.example.com:50051",
      "grpc.ssl_target_name_override": "authwire.example.com",
    })
    const [byServerName] = await endpointsOf(grpcTarget({ url, tls }), async () => ["10.0.0.1"])
    expect(byServerName?.settings).toMatchObject({
      "grpc.default_authority": "other.example.com",
      "grpc.ssl_target_name_override": "other.example.com",
    })
  })

  test("a name without addresses has no endpoint, and a failed resolution is an error", async () => {
    const target = grpcTarget({ url: "dns:///authwire.example.com:50051" })
    expect(await endpointsOf(target, async () => [])).toEqual([])
    await expect(endpointsOf(target, () => Promise.reject(new Error("no such name")))).rejects.toThrow("no such name")
  })
})

describe("systemResolve", () => {
  test("resolves the names of this machine", async () => {
    expect(await systemResolve("127.0.0.1")).toEqual(["127.0.0.1"])
    expect(await systemResolve("localhost")).toEqual(expect.arrayContaining([expect.stringMatching(/^(127\.|::1)/)]))
  })
})
