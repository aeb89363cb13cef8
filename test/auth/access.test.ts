import { SessionService } from "@authwire/proto"
import { Health } from "@authwire/proto/health"
import { ServerReflection as ServerReflectionV1 } from "@authwire/proto/reflection/v1"
import { ServerReflection as ServerReflectionV1Alpha } from "@authwire/proto/reflection/v1alpha"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createKey, revokeKey, type TestKey } from "@authwire/test-support/processes/keys.js"
import { startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { everyMethod, everyScope, scopeOf } from "@authwire/test-support/schema/every-method.js"
import { until } from "@authwire/test-support/until.js"
import type { DescMethod } from "@bufbuild/protobuf"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { contents, prepare, telling } from "./access/requests.js"
import { type Outcome, type Way, ways } from "./access/ways.js"

// Every method of the schema, over every transport, with every kind of valid and invalid credential.
const later = endsAfterEach()
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const letIn = ({ reason = "" }: Outcome) => !/^(API_KEY_|SCOPE_|RATE_|OVER|DATABASE)/.test(reason)

test("S-15: every method of the schema declares a scope", () => {
  expect(everyMethod.length).toBeGreaterThanOrEqual(23)
  expect(everyMethod.filter((method) => scopeOf(method) === "").map(({ name }) => name)).toEqual([])
})

const besideAll = [
  ...["users:private", "keys:write", "session-policy:write", "tenants:read", "tenants:write"],
  ...["webhooks:read", "webhooks:write"],
]
const target = serviceDatabase()

describe(`on ${target}`, () => {
  const keys: Record<string, Pick<TestKey, "text">> = {}
  const expired = staticKey(["all"], { expires: "2020-01-01T00:00:00Z" })
  const given = staticKey(["all"])
  // Some scopes have keys of the database, each of which costs a process of the command. The others have static keys.
  const ofDatabase = ["users:read", "users:write", "sessions:write"]
  const ofConfiguration = everyScope.filter((scope) => !ofDatabase.includes(scope))
  const statics = ofConfiguration.map((scope) => [scope, staticKey([scope])] as const)
  const authwire = useAuthwire(target, { keys: [expired, given, ...statics.map(([, key]) => key)] })
  beforeAll(async () => {
    const { server, database } = authwire
    for (const [scope, key] of statics) keys[scope] = key
    for (const scope of ["all", ...ofDatabase]) keys[scope] = await createKey(database, scope)
    const revoked = await createKey(database, "all")
    keys.revoked = revoked
    await revokeKey(database, revoked)
    const [way, method] = [ways[0], everyMethod[0]] as [Way, DescMethod]
    await until(async () => !letIn(await way.call(server, method, {}, bearer(keyOf("revoked")))))
    await prepare(authwire.clientOf(given))
    // Several processes are started, which can take longer than the default timeout of a hook on a busy machine.
  }, 120_000)
  const keyOf = (name: string) => (keys[name] as TestKey).text

  /** Invalid credentials, as authorization headers, and the reason of each rejection. api-key.test.ts has all that are no key. */
  const strangers = (): [what: string, header: Record<string, string>, reason: string][] => {
    const key = keyOf("all")
    const [, id, secret] = /^awk_([^_]+)_(.+)$/.exec(key) as unknown as [string, string, string]
    const otherId = (/^awk_([^_]+)/.exec(keyOf("users:read")) as RegExpExecArray)[1]
    const wrong: [string, string][] = [
      ["something that is no key", "Bearer x"],
      ["a wrong secret", `Bearer awk_${id}_${"A".repeat(43)}`],
      [
        "a secret that differs in its first letter",
        `Bearer awk_${id}_${secret[0] === "A" ? "B" : "A"}${secret.slice(1)}`,
      ],
      ["the id of another key", `Bearer awk_${otherId}_${secret}`],
      ["an id that nobody has", `Bearer awk_aaaaaaaaaaaaaaaa_${secret}`],
      ["a revoked key", `Bearer ${keyOf("revoked")}`],
      ["an expired key", `Bearer ${expired.text}`],
    ]
    return [
      ["no key", {}, "API_KEY_MISSING"],
      ...wrong.map(([what, authorization]): [string, Record<string, string>, string] => [
        what,
        { authorization },
        "API_KEY_INVALID",
      ]),
    ]
  }

  describe.each(ways.map((way) => [way.name, way] as const))("over %s", (_, way) => {
    const methods = everyMethod.filter(way.carries)

    test("every method rejects a call without a valid key, and nothing happens", async () => {
      const before = await contents(authwire.database)
      // Keys are looked up behind all transports. No key and a wrong secret show for each transport that they are.
      const callers = way === ways[0] ? strangers() : [strangers()[0]!, strangers()[2]!]
      for (const [what, header, reason] of callers) {
        const outcomes = await Promise.all(
          methods.map(
            async (method) =>
              [method.name, await way.call(authwire.server, method, telling(method.name), header)] as const,
          ),
        )
        const rejected = methods.map(({ name }) => [name, { code: "Unauthenticated", reason, scope: undefined }])
        expect([what, outcomes.map(([name, one]) => [name, { scope: undefined, ...one }])]).toEqual([what, rejected])
      }
      expect(await contents(authwire.database)).toBe(before)
    })

    test("S-15: the methods of its scope accept a key, all others reject it, and then nothing happens", async () => {
      const before = await contents(authwire.database)
      const ask = async (scope: string, method: (typeof methods)[number]) => {
        const asked = scopeOf(method)
        const mayDo = asked === scope || asked === "any" || (scope === "all" && !besideAll.includes(asked))
        const request = mayDo ? {} : telling(method.name)
        return { scope, method, mayDo, outcome: await way.call(authwire.server, method, request, bearer(keyOf(scope))) }
      }
      // The scopes are checked behind all transports. Two of them show for each method over each transport that they are.
      const scopes = way === ways[0] ? [...everyScope, "all"] : ["users:read", "users:write", "all"]
      // One scope after another, because each needs a pipeline, and a connection allows only a few.
      const table: Awaited<ReturnType<typeof ask>>[] = []
      for (const scope of scopes) table.push(...(await Promise.all(methods.map((method) => ask(scope, method)))))
      for (const { scope, method, mayDo, outcome } of table) {
        const shown = `${method.name} with ${scope}: ${JSON.stringify(outcome)}`
        if (mayDo) expect([shown, letIn(outcome)]).toEqual([shown, true])
        else {
          const rejected = { code: "PermissionDenied", reason: "SCOPE_MISSING", scope: scopeOf(method) }
          expect([shown, outcome]).toEqual([shown, rejected])
        }
      }
      // Undoes the effects of empty requests.
      await authwire.database.query("DELETE FROM session_policies")
      await authwire.database.query("DELETE FROM users WHERE id NOT IN ('here', 'other', 'blocked')")
      expect(await contents(authwire.database)).toBe(before)
    })
  })

  test("a method that was accepted did its work, so the table can distinguish the cases", async () => {
    const [way] = ways
    const method = everyMethod.find(({ name }) => name === "CreateUser")
    const before = await contents(authwire.database)
    const outcome = await way?.call(
      authwire.server,
      method as never,
      telling("CreateUser"),
      bearer(keyOf("users:write")),
    )
    expect(outcome).toEqual({ code: "OK" })
    expect(await contents(authwire.database)).not.toBe(before)
    await authwire.database.query("DELETE FROM users WHERE id = 'intruder'")
  })

  test("AccessSession requires the scope for reading too, and a key without it writes nothing", async () => {
    const [way] = ways as [Way]
    const before = await contents(authwire.database)
    const { accessSession } = SessionService.method
    const call = (key: string) => way.call(authwire.server, accessSession, telling("AccessSession"), bearer(keyOf(key)))
    const rejected = { code: "PermissionDenied", reason: "SCOPE_MISSING", scope: "sessions:read" }
    expect(await call("sessions:write")).toEqual(rejected)
    expect(await contents(authwire.database)).toBe(before)
    expect(await call("all")).toEqual({ code: "OK" })
  })

  test("health and reflection need no key; both can be disabled, and the probes stay", async () => {
    const closed = await startServer({
      databaseUrl: authwire.database.url,
      keys: true,
      args: ["--health=off", "--reflection=off"],
    })
    later(closed.stop)
    const open = [
      Health.method.check,
      Health.method.list,
      ServerReflectionV1.method,
      ServerReflectionV1Alpha.method,
    ].map((method) => ("serverReflectionInfo" in method ? method.serverReflectionInfo : method))
    const [grpc, http, connect] = ways
    for (const header of [{}, bearer("x"), bearer(keyOf("revoked"))] as Record<string, string>[]) {
      for (const method of open) {
        for (const way of [grpc, http, connect]) {
          expect(await way?.call(authwire.server, method, {}, header)).toEqual({ code: "OK" })
          expect(await way?.call(closed, method, {}, header)).toMatchObject({ code: "Unimplemented" })
        }
      }
    }
    for (const path of ["healthz", "readyz"]) {
      for (const { httpUrl } of [authwire.server, closed]) expect((await fetch(`${httpUrl}/${path}`)).status).toBe(200)
    }
    expect(await closed.stop()).toBe(0)
  })
})
