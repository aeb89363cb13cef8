import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "@jest/globals"
import { scopes } from "../auth/scopes.js"
import { ConfigurationError } from "../errors/configuration-error.js"
import { type Flags, readConfiguration } from "./configuration.js"
import type { Option } from "./option.js"
import { options, optionsOf } from "./options.js"

const keyOptions = ["name", "scopes", "tenant", "expires", "certificateName", "offline"]
const secret = "x".repeat(32)
const environment = { AUTHWIRE_DATABASE_URL: "mysql://h/d", AUTH_SECRET: secret }

describe("readConfiguration", () => {
  test("a flag overrides its variable, which overrides the default of --dev, which overrides the default", async () => {
    const variable = { AUTHWIRE_LOG_FORMAT: "json", AUTHWIRE_LOG_LEVEL: "" }
    const read = async (flags: object, more = {}) => {
      const { logFormat, logLevel } = await readConfiguration("serve", flags, { ...environment, ...more })
      return [logFormat, logLevel]
    }
    expect(await read({})).toEqual(["json", "info"])
    expect(await read({ dev: true })).toEqual(["text", "info"])
    expect(await read({ dev: true }, variable)).toEqual(["json", "info"])
    expect(await read({ dev: true, logFormat: "text", logLevel: "warn" }, variable)).toEqual(["text", "warn"])
  })

  test("the variable of a source database is not used without --from", async () => {
    const exported = { ...environment, AUTHWIRE_SOURCE_URL: "mysql://u@old/db" }
    expect((await readConfiguration("doctor", {}, exported)).url).toBeUndefined()
    expect((await readConfiguration("doctor", { from: "prisma" }, exported)).url).toBe("mysql://u@old/db")
  })

  test("reads every kind of value", async () => {
    const given = {
      AUTHWIRE_MIGRATE: "1",
      AUTHWIRE_HTTP_ADDR: "off",
      AUTHWIRE_AUDIT_LOG: "/var/log/audit",
      AUTHWIRE_ENCRYPTION_KEYS: `${"ab".repeat(32)}, ${Buffer.alloc(32).toString("base64")}`,
      AUTHWIRE_API_KEYS: "[]",
      AUTH_SECRET_2: secret.toUpperCase(),
      SERVICE_AUTH_URL: "https://app.example.com",
      AUTHWIRE_WEBHOOK_ALLOW_PRIVATE: "10.1.0.0/16, fd00::5",
    }
    const flags = {
      grpcAddr: "[::1]:1",
      reusePort: true,
      rateLimitOverrides: "UserService.GetUser=5",
      reflection: "off",
    }
    expect(await readConfiguration("serve", flags, { ...environment, ...given })).toMatchObject({
      dev: false,
      migrate: true,
      grpcAddr: { host: "::1", port: 1 },
      httpAddr: undefined,
      metricsAddr: undefined,
      reusePort: true,
      reflection: "off",
      health: "on",
      auditLog: { file: "/var/log/audit" },
      rateLimitOverrides: { "UserService.GetUser": 5 },
      encryptionKeys: [Buffer.alloc(32, 0xab).toString("base64"), Buffer.alloc(32).toString("base64")],
      apiKeys: "[]",
      secrets: [secret.toUpperCase(), secret],
      secureCookie: true,
      webhookAllowPrivate: ["10.1.0.0/16", "fd00::5"],
    })
    const { expires, ...key } = await readConfiguration(
      "keys create",
      { offline: true, name: "n", scopes: "users:read, users:write,users:read", expires: "2d" },
      {},
    )
    expect(key).toMatchObject({ databaseUrl: "", tenant: "default", scopes: ["users:read", "users:write"] })
    expect((expires as Date).getTime() - Date.now()).toBeGreaterThan(2 * 86_400_000 - 60_000)
  })

  test("a secret in a file counts without the newline at its end, and doubts name the variable", async () => {
    const folder = mkdtempSync(join(tmpdir(), "authwire-secrets-"))
    const files = { AUTH_SECRET_FILE: `${secret}\n`, AUTH_SECRET_1_FILE: `"${secret}"\r\n` }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const variables = Object.fromEntries(Object.keys(files).map((name) => [name, join(folder, name)]))
    const keys = { AUTHWIRE_ENCRYPTION_KEYS_FILE: join(folder, "keys") }
    writeFileSync(join(folder, "keys"), `${"ab".repeat(32)}\n`)
    const given = { ...environment, AUTH_SECRET: "", ...variables, ...keys }
    const { secrets, doubts, encryptionKeys } = await readConfiguration("serve", {}, given)
    rmSync(folder, { recursive: true })
    expect(secrets).toEqual([`"${secret}"`, secret])
    expect(doubts).toEqual(["AUTH_SECRET_1_FILE: is in quotes: does the application use exactly the same bytes?"])
    expect(encryptionKeys).toEqual([Buffer.alloc(32, 0xab).toString("base64")])
  })

  test("a command reads only its own options", async () => {
    const wrong = { ...environment, AUTHWIRE_GRPC_ADDR: "nonsense", AUTHWIRE_API_KEYS: "nonsense" }
    const configuration = await readConfiguration("migrate up", {}, wrong)
    expect(configuration).toMatchObject({ databaseUrl: "mysql://h/d", databaseConnectTimeoutMs: 5000, secrets: [] })
    expect(configuration).not.toHaveProperty("grpcAddr")
  })

  test.each<[flags: object, variables: object, message: string]>([
    [{ databaseUrl: "sqlite:x\ufffd" }, {}, "--database-url: must be UTF-8, without the character U+FFFD"],
    [{}, { AUTH_SECRET: `${secret}\ufffd` }, "AUTH_SECRET: must be UTF-8"],
    [{}, { AUTH_SECRET: "", AUTH_SECRET_FILE: "\ufffd" }, "AUTH_SECRET_FILE: must be UTF-8"],
    [{}, { AUTHWIRE_API_KEYS: '[{"name":"\ufffd"}]' }, "AUTHWIRE_API_KEYS: must be UTF-8"],
    [{ migrate: "yes" }, {}, "--migrate: must be true or false"],
    [{}, { AUTHWIRE_MIGRATE: "TRUE" }, "AUTHWIRE_MIGRATE: must be true or false"],
    [{ health: "true" }, {}, "--health: must be one of on, off"],
    [
      {},
      { AUTHWIRE_API_KEYS: `awk_${"k".repeat(16)}_${"s".repeat(43)}` },
      "AUTHWIRE_API_KEYS: must be a JSON array, and not a key; a single key belongs in AUTHWIRE_API_KEY of its application",
    ],
    [
      {},
      { AUTHWIRE_API_KEY: '[{"id": "x"}]' },
      "AUTHWIRE_API_KEY: is the key of one application, which the service does not read; a list of keys is AUTHWIRE_API_KEYS",
    ],
    [
      {},
      { AUTHWIRE_API_KEYS: '[{"id": "hunter2"}]' },
      "AUTHWIRE_API_KEYS: [0].id: must be 16 characters of a-z and 0-9",
    ],
    [{ apiKeysFile: "x" }, { AUTHWIRE_API_KEYS: "[]" }, "AUTHWIRE_API_KEYS, --api-keys-file: only one of them"],
    [{}, { AUTHWIRE_ENCRYPTION_KEYS: "x" }, "AUTHWIRE_ENCRYPTION_KEYS: key 1 must be 32 bytes"],
    [{ rateLimitOverrides: "A.B=1" }, {}, "--rate-limit-overrides: there is no method A.B"],
    [{ reusePort: true }, { AUTHWIRE_DATABASE_URL: "sqlite:x" }, "--reuse-port: needs a database server"],
    [{}, { AUTHWIRE_REUSE_PORT: "1", AUTHWIRE_DATABASE_URL: "file:x" }, "AUTHWIRE_REUSE_PORT: needs a database server"],
    [{ reusePort: true, grpcAddr: "127.0.0.1:0" }, {}, "--grpc-addr: with --reuse-port not port 0"],
    [{ reusePort: true }, { AUTHWIRE_HTTP_ADDR: "[::1]:0" }, "AUTHWIRE_HTTP_ADDR: with --reuse-port not port 0"],
    [{ databaseUrl: "mysql://h/x?sslmode=require" }, {}, "--database-url: the database URL has an unknown parameter"],
    [{ databaseUrl: "mysql://u:p@h1,,h2/db" }, {}, "--database-url: the database URL contains an empty host"],
    [{ databaseReadUrl: "mysql://h1" }, {}, "--database-read-url: the database URL names no database"],
    [{ databaseUrl: "mysql://h/x", databaseReadUrl: "postgres://h/x" }, {}, "--database-read-url: must be mysql://"],
    [{ databasePasswordFile: "x", databasePasswordCommand: "y" }, {}, "--database-password-file: must not be combined"],
    [{ databaseUrl: "sqlite:x", databasePasswordFile: "x" }, {}, "--database-password-file: needs a database server"],
    [
      { databaseUrl: "postgres://u:p@[::1]/x", databasePasswordCommand: "y" },
      {},
      "--database-password-command: must not be combined with a password in",
    ],
    [
      { databaseUrl: "postgres://u@h/x?port=1&password=p", databasePasswordFile: "x" },
      {},
      "--database-password-file: must not be combined with a password in",
    ],
    [
      { databaseUrl: "sqlite:x", databaseReadUrl: "mysql://h/x" },
      {},
      "--database-read-url: needs a MySQL or MariaDB server as",
    ],
    [{ auditLog: "off", auditLogFailure: "reject" }, {}, "--audit-log-failure: reject needs an audit log"],
    [{ dev: true, metricsAddr: "0.0.0.0:1" }, {}, "--metrics-addr: with --dev only a loopback address"],
    [{ metricsAddr: "0.0.0.0:1" }, {}, "--metrics-addr: without TLS only a loopback address"],
    [{}, { AUTH_SECRET_1: "short" }, "AUTH_SECRET_1: must have at least 32 bytes"],
    [{}, { AUTH_SECRET: "" }, "AUTH_SECRET: is required"],
    [{ databaseUrl: "oracle://x/y" }, {}, "--database-url: the database URL must be mysql:"],
    [{}, { AUTH_SECRET: " ".repeat(40) }, "AUTH_SECRET: must have at least 32 bytes"],
    [{}, { AUTH_SECRET_FILE: "/x" }, "AUTH_SECRET, AUTH_SECRET_FILE: only one of them"],
    [{}, { AUTH_SECRET_1_FILE: "/no/such" }, "AUTH_SECRET_1_FILE: cannot be read (ENOENT)"],
    [{}, { AUTH_SECRET_1_FILE: "/dev/zero" }, "AUTH_SECRET_1_FILE: must be a file"],
    [{}, { AUTHWIRE_ENCRYPTION_KEYS_FILE: fileURLToPath(import.meta.url) }, "AUTHWIRE_ENCRYPTION_KEYS_FILE: "],
    [{ grpcAddr: "50051" }, {}, "--grpc-addr: must be HOST:PORT"],
    ...["intranet", "10.1.0.0/33", "10.1/16", "fd00::/129", "10.1.0.0/16,", "fe80::1%eth0", "[::1]", "10.0.0.0/"].map(
      (list): [object, object, string] => [
        { webhookAllowPrivate: `127.0.0.1,${list}` },
        {},
        `--webhook-allow-private: entry ${list.endsWith(",") ? 3 : 2} must be an IP address, or a range such as`,
      ],
    ),
    [{ httpAddr: "127.0.0.1:70000" }, {}, "--http-addr: must be HOST:PORT"],
    [{ dev: true, grpcAddr: "0.0.0.0:0" }, {}, "--grpc-addr: with --dev only a loopback address"],
    [{ grpcAddr: "off", httpAddr: "off" }, {}, "--grpc-addr, --http-addr: one of the listeners must be open"],
  ])("%j and %j: %s", async (flags, variables, message) => {
    const reading = readConfiguration("serve", flags, { ...environment, ...variables })
    await expect(reading).rejects.toThrow(ConfigurationError)
    await expect(reading).rejects.toThrow(message)
  })

  test.each<[Flags, RegExp]>([
    [{ tlsCert: "a" }, /^--tls-cert: needs --tls-key/],
    [{ tlsKey: "a" }, /^--tls-key: needs --tls-cert/],
    [{ tlsClientCa: "a" }, /^--tls-client-ca: needs --tls-cert and --tls-key/],
    [{ grpcAddr: "0.0.0.0:0" }, /^--grpc-addr: without TLS .+ --tls-cert .+ --insecure-behind-proxy/],
    [{ httpAddr: "[::]:0" }, /^--http-addr: without TLS .+ --tls-cert .+ --insecure-behind-proxy/],
    [{ httpAddr: "127.0.0.1.example.com:0" }, /^--http-addr: without TLS/],
  ])("S-7: %j: %s", async (flags, message) => {
    const reading = readConfiguration("serve", flags, environment)
    await expect(reading).rejects.toThrow(ConfigurationError)
    await expect(reading).rejects.toThrow(message)
  })

  test.each(["AUTH_SECRET", "AUTH_SECRET_2"])("S-3: %s must have 32 bytes, and is not in the error", async (name) => {
    const read = (text: string) => readConfiguration("serve", {}, { ...environment, [name]: text })
    await expect(read("y".repeat(31))).rejects.toThrow(new RegExp(`^${name}: must have at least 32 bytes[^y]*$`))
    expect((await read("é".repeat(16))).secrets).toContain("é".repeat(16))
  })

  test.each([
    [{ name: undefined }, "--name: is required"],
    [{ name: "a\nb" }, "--name: is required"],
    [{ scopes: undefined }, "--scopes: must be one or more of these"],
    [
      { scopes: "users:read,nope" },
      `--scopes: must be one or more of these, separated by commas, and not nope: application, backend, gateway, operator, all, ${scopes.join(", ")}`,
    ],
    [{ scopes: "users:wriet,users:reed,all" }, "separated by commas, and not users:wriet, users:reed: application,"],
    // It may be a key that was given by mistake.
    [{ scopes: "awk_0123456789abcdef_secret" }, "separated by commas: application,"],
    [{ expires: "2020-01-01" }, "--expires: must lie in the future"],
    [{ expires: "soon" }, "--expires: must be a duration from now, such"],
    [{ tenant: "A" }, "--tenant: must be 1 to 63 characters of a-z"],
    [{ certificateName: "x y" }, "--certificate-name: must be"],
  ])("a key with %j: %s", async (flags, message) => {
    const reading = readConfiguration("keys create", { offline: true, name: "a", scopes: "all", ...flags } as Flags, {})
    await expect(reading).rejects.toThrow(message)
  })

  test("an unknown kind of events is rejected with a list of the known kinds", async () => {
    const reading = readConfiguration("events tail", { kinds: "user.made" }, environment)
    await expect(reading).rejects.toThrow("--kinds: must be one or more of these, separated by commas: user.created, ")
  })

  test.each([
    [{ OTEL_TRACES_EXPORTER: "zipkin" }, "must be one of none, otlp, console"],
    [{ OTEL_TRACES_SAMPLER: "always" }, "must be one of always_on, always_off"],
    [{ OTEL_TRACES_SAMPLER_ARG: "1.5" }, "must be a number from 0 to 1"],
  ])("traces with %j: %s", async (variables, rule) => {
    const reading = readConfiguration("serve", {}, { ...environment, OTEL_TRACES_EXPORTER: "otlp", ...variables })
    await expect(reading).rejects.toThrow(`${Object.keys(variables)[0]}: ${rule}`)
  })

  test.each([
    [{ url: "sqlite:x" }, "--from: is required: prisma, drizzle"],
    [{ from: "prisma" }, "--url: is required with --from"],
    [{ from: "authwire", url: "sqlite:x", databaseUrl: "sqlite:x" }, "--url: must be another database than"],
  ])("an import with %j: %s", async (flags, message) => {
    await expect(readConfiguration("import", flags, environment)).rejects.toThrow(message)
  })

  const commands = [
    ...(["serve", "import", "export", "cleanup", "rekey", "audit", "console", "tenants delete", "policy set"] as const),
    ...([
      "events tail",
      "keys rotate-signing",
      "users create",
      "users list",
      "users find",
      "users delete",
      "users disable",
      "sessions revoke-all",
      "webhooks create",
      "webhooks update",
      "webhooks rotate-secret",
      "webhooks deliveries",
    ] as const),
  ]
  test("an error never repeats an invalid value, because it may be a misplaced secret", async () => {
    const nonsense = "hunter2 \n hunter2"
    let count = 0
    for (const [name, { flag, variable, value }] of Object.entries<Option>(options)) {
      if ((await value.safeParseAsync(nonsense)).success) continue
      const own = commands.find((one) => optionsOf(one).some(([other]) => other === name))
      const command = keyOptions.includes(name) ? "keys create" : (own ?? "serve")
      const given = flag === undefined ? {} : { [name]: nonsense }
      const inherited = flag === undefined ? { [variable ?? ""]: nonsense } : {}
      const valid = { name: "n", scopes: "all", from: "prisma", url: "sqlite:x" }
      const traced = { OTEL_TRACES_EXPORTER: "otlp", ...inherited }
      const reading = readConfiguration(command, { ...valid, ...given }, { ...environment, ...traced })
      await expect(reading).rejects.toThrow(ConfigurationError)
      await expect(reading).rejects.not.toThrow("hunter2")
      await expect(reading).rejects.toThrow(flag === undefined ? `${variable}: ` : `--${flag}: `)
      count++
    }
    expect(count).toBeGreaterThan(25)
    const url = { databaseUrl: "mysql://user:hunter2@host" }
    const reading = readConfiguration("serve", url, environment)
    await expect(reading).rejects.toThrow(/^--database-url: the database URL names no database/)
    await expect(reading).rejects.not.toThrow("hunter2")
  })

  test("tracing variables that all programs of a platform share are ignored unless traces are enabled", async () => {
    const shared = { ...environment, OTEL_TRACES_SAMPLER: "xray" }
    const { traceExporter, traceSampler } = await readConfiguration("serve", {}, shared)
    expect([traceExporter, traceSampler]).toEqual(["none", "parentbased_traceidratio"])
    const asked = { ...shared, OTEL_TRACES_EXPORTER: "otlp" }
    await expect(readConfiguration("serve", {}, asked)).rejects.toThrow(/^OTEL_TRACES_SAMPLER: must be one of/)
  })

  test("--dev needs no secret, and accepts a short one", async () => {
    expect(await readConfiguration("serve", { dev: true }, {})).toMatchObject({
      databaseUrl: "sqlite:.authwire/authwire.db",
      secrets: [],
    })
    expect((await readConfiguration("serve", { dev: true }, { AUTH_SECRET: "a" })).secrets).toEqual(["a"])
  })
})

test("every default is a valid value", async () => {
  for (const { value, default: preset, devDefault } of Object.values<Option>(options)) {
    for (const text of [preset, devDefault]) {
      if (text !== undefined) expect((await value.safeParseAsync(text)).success).toBe(true)
    }
  }
})
