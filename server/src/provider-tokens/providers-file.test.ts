import { execFileSync } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "@jest/globals"
import type { Provider } from "./provider.js"
import { parseProviders } from "./providers-file.js"

const folder = mkdtempSync(join(tmpdir(), "authwire-providers-"))
afterAll(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, "secret"), "of a file\n")
writeFileSync(join(folder, "empty"), "\n")
writeFileSync(
  join(folder, "ec"),
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "pem" }),
)
const sources = { env: { SECRET: "of the environment", EMPTY: "", BYTES: "\ufffd" }, folder }
const entry = { token_endpoint: "https://p.example/token", client_id: "app", client_secret_env: "SECRET" }
const parse = (content: unknown) => parseProviders(JSON.stringify(content), sources)
const { client_secret_env: _, ...bare } = entry

const secretOf = async (provider: Provider | undefined) =>
  provider?.credentials.method === "client_secret_basic" ? provider.credentials.secret() : undefined

describe("a file of providers", () => {
  test("each tenant has its own, and none of another", async () => {
    const providers = parse({
      default: { github: entry, "keycloak:main": { ...bare, auth_method: "none" } },
      acme: { github: { ...entry, client_id: "acme", timeout_seconds: 3, issuer: "https://p.example" } },
      bare: {},
    })
    expect(providers.of("default", "github")).toMatchObject({
      tokenEndpoint: "https://p.example/token",
      clientId: "app",
      clientIdName: "client_id",
      credentials: { method: "client_secret_basic" },
      bodyFormat: "form",
      parameters: {},
      errorCodes: new Map(),
      timeoutMs: 10_000,
      issuer: undefined,
    })
    expect(await secretOf(providers.of("default", "github"))).toBe("of the environment")
    expect(providers.of("default", "keycloak:main")?.credentials).toEqual({ method: "none" })
    expect(providers.of("acme", "github")).toMatchObject({
      clientId: "acme",
      timeoutMs: 3_000,
      issuer: "https://p.example",
    })
    for (const [tenant, name] of [
      ["acme", "keycloak:main"],
      ["bare", "github"],
      ["other", "github"],
      ["default", "GitHub"],
      ["default", "constructor"],
    ] as const) {
      expect(providers.of(tenant, name)).toBeUndefined()
    }
  })

  test.each([
    "http://127.0.0.1:3000/token",
    "http://localhost/token",
    "http://[::1]:1/token",
    "https://user.example/token?x=y",
  ])("an endpoint may be %s", (url) => {
    expect(parse({ default: { p: { ...entry, token_endpoint: url } } }).of("default", "p")?.tokenEndpoint).toBe(url)
  })

  test.each([
    "http://p.example/token",
    "http://127.0.0.1.p.example/token",
    "http://localhost.p.example/token",
    "http://169.254.169.254/token",
    "http://0.0.0.0/token",
    "file:///etc/passwd",
    "//p.example/token",
    "https://user@p.example/token",
    "https://user:password@p.example/token",
    "https://p.example/token#x",
    "https://p.example/token#",
    "https://",
    "",
    "https://p.example/\n",
  ])("an endpoint may not be %j", (url) => {
    for (const field of ["token_endpoint", "issuer"]) {
      expect(() => parse({ default: { p: { ...entry, [field]: url } } })).toThrow(
        new RegExp(`^default\\.p\\.${field}: must`),
      )
    }
  })

  test("a secret of a file is read at each use, without the end of its line; while it is away the last one holds", async () => {
    const path = join(folder, "changing")
    writeFileSync(path, " one \r\n")
    const provider = parse({ default: { p: { ...bare, client_secret_file: "changing" } } }).of("default", "p")
    expect(await secretOf(provider)).toBe(" one ")
    writeFileSync(path, "two")
    expect(await secretOf(provider)).toBe("two")
    renameSync(path, join(folder, "away"))
    expect(await secretOf(provider)).toBe("two")
    writeFileSync(path, "")
    expect(await secretOf(provider)).toBe("two")
  })

  test("concurrent uses of a secret of a file share one read, so that a read that hangs blocks one thread only", async () => {
    const path = join(folder, "hanging")
    writeFileSync(path, "one")
    const provider = parse({ default: { p: { ...bare, client_secret_file: "hanging" } } }).of("default", "p")
    rmSync(path)
    // Opening a pipe blocks until its other side is opened too. Of several reads, only one would get the content.
    execFileSync("mkfifo", [path])
    const uses = [secretOf(provider), secretOf(provider)]
    await writeFile(path, "two")
    expect(await Promise.all(uses)).toEqual(["two", "two"])
    rmSync(path)
    writeFileSync(path, "three")
    expect(await secretOf(provider)).toBe("three")
  })

  test("a provider that differs: its key, parameters, names and error codes", () => {
    const different = {
      auth_method: "private_key_jwt",
      private_key_file: "ec",
      private_key_algorithm: "ES256",
      private_key_id: "k1",
      body_format: "json",
      client_id_parameter: "client_key",
      parameters: { audience: "a" },
      error_codes: { weird: "client" },
    }
    expect(parse({ default: { p: { ...bare, ...different } } }).of("default", "p")).toMatchObject({
      credentials: { method: "private_key_jwt", keyId: "k1" },
      bodyFormat: "json",
      clientIdName: "client_key",
      parameters: { audience: "a" },
      errorCodes: new Map([["weird", "client"]]),
    })
  })

  const jwt = { ...bare, auth_method: "private_key_jwt" }
  function expectProblem(content: unknown, message: string): void {
    let problem = ""
    try {
      parse(content)
    } catch (error) {
      problem = `${(error as Error).name}: ${(error as Error).message}`
    }
    expect(problem).toContain(`InvalidValueError: ${message}`)
    expect(problem).not.toContain("S3cret!")
  }

  test.each<[unknown, string]>([
    [[], "must be a JSON object"],
    [null, "must be a JSON object"],
    [{ "S3cret!": {} }, "name 1: must be that of a tenant and match"],
    [{ default: [] }, "default: must be an object with a provider for each name"],
    [{ default: { "a secret in the wrong place": entry } }, "default: name 1: must be 1 to 64 characters"],
  ])("the file %j is rejected by the name of what is wrong, without its value", (content, message) => {
    expectProblem(content, message)
  })

  test.each<[unknown, string]>([
    [jwt, ": must have one of private_key_env and private_key_file"],
    [{ ...jwt, client_secret_env: "SECRET" }, ": must have one of private_key_env and"],
    [{ ...entry, private_key_file: "ec" }, ": must have one of client_secret_env and"],
    [{ ...jwt, private_key_env: "SECRET" }, ".private_key_env: must be a private key of the"],
    [{ ...jwt, private_key_file: "ec" }, ".private_key_file: must be a private key of the type rsa"],
    [{ ...entry, body_format: "xml" }, ".body_format: must be one of form, json"],
    [{ ...entry, parameters: { client_secret: "S3cret!" } }, ".parameters: must have names of"],
    [{ ...entry, parameters: { a: 1 } }, ".parameters: must be a string"],
    [{ ...entry, error_codes: { weird: "retry" } }, ".error_codes: must be one of refused"],
    ["x", ": must be an object"],
    [{}, ".token_endpoint: is missing"],
    [{ ...entry, client_id: undefined }, ".client_id: is missing"],
    [{ ...entry, client_id: 7 }, ".client_id: must be a string"],
    [{ ...entry, client_id: "a\u0000" }, ".client_id: must not have control characters"],
    [{ ...entry, auth_method: "basic" }, ".auth_method: must be one of client_secret_basic"],
    [{ ...entry, timeout_seconds: 31 }, ".timeout_seconds: must be a whole number from 1"],
    [{ ...entry, timeout_seconds: 1.5 }, ".timeout_seconds: must be a whole number from 1"],
    [{ ...entry, client_secret: "S3cret!" }, ": the fields are token_endpoint, issuer,"],
    [bare, ": must have one of client_secret_env and client_secret_file"],
    [{ ...entry, client_secret_file: "secret" }, ": must have one of client_secret_env and client_secret_file"],
    [{ ...entry, auth_method: "none" }, ": the auth_method none must not be combined with"],
    [{ ...entry, client_secret_env: "S3cret!" }, ".client_secret_env: the environment variable is not set"],
    [{ ...entry, client_secret_env: "EMPTY" }, ".client_secret_env: the environment variable is not set"],
    [{ ...entry, client_secret_env: "BYTES" }, ".client_secret_env: must be UTF-8, without the character U+FFFD"],
    [{ ...bare, client_secret_file: "none" }, ".client_secret_file: the file cannot be read (ENOENT)"],
    [{ ...bare, client_secret_file: "." }, ".client_secret_file: must be a regular file"],
    [{ ...bare, client_secret_file: "empty" }, ".client_secret_file: must have 1 to 16384 bytes"],
  ])("the provider %j is rejected by the name of what is wrong, without its value", (provider, message) => {
    expectProblem({ default: { p: provider } }, `default.p${message}`)
  })

  test("what is no JSON is not quoted", () => {
    expect(() => parseProviders('{"S3cret!', sources)).toThrow(/^must be a JSON object$/)
  })
})
