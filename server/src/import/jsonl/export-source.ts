import { isDeepStrictEqual } from "node:util"
import {
  CreateSessionRequestSchema,
  DisableUserRequestSchema,
  GetSessionRequestSchema,
  UpdateAuthenticatorRequestSchema,
} from "@authwire/proto"
import type { DescMessage } from "@bufbuild/protobuf"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { z } from "zod"
import { StartError } from "../../errors/start-error.js"
import { type BulkName, type BulkRows, bulkNames } from "../../store/sql/index.js"
import type { SessionPolicy } from "../../store/types.js"
import { isObject } from "../../util/json.js"
import { type ImportSource, type Item, keyDigest, labelOf, type Page } from "../item.js"
import { convert } from "../peer/convert.js"
import { fields } from "../peer/layouts.js"
import type { ReadColumn } from "../peer/plan.js"
import { RawRow } from "../peer/raw-row.js"
import { brokenField, brokenRules } from "../peer/rules.js"
import { jsonReader } from "../peer/values.js"
import { type Line, lineError, linesOf, type Place, start } from "./lines.js"

/** A page ends after this number of rows, or after this size in bytes. */
const [pageSize, maxPageBytes] = [500, 8 * 1024 * 1024]

/** Checks a property by the rules of the field of a request that sets it. */
const ruled =
  <S extends DescMessage>(schema: S, field: keyof S["field"] & string) =>
  (value: unknown, context: z.RefinementCtx) => {
    for (const message of brokenField(schema, field, value)) context.addIssue({ code: "custom", message })
  }
const text = <S extends DescMessage>(schema: S, field: keyof S["field"] & string) =>
  z.string().superRefine(ruled(schema, field)).optional()
const ofTime = ruled(DisableUserRequestSchema, "endTime")
const date = z.iso
  .datetime()
  .transform((given) => new Date(given))
  .superRefine((time, context) => ofTime(timestampFromDate(time), context))
  .optional()
const times = { created: date, updated: date }
const ofSession = (field: keyof typeof CreateSessionRequestSchema.field) => text(CreateSessionRequestSchema, field)

/** The properties of a line that the contract does not define. */
const ownProperties = {
  users: z.strictObject({
    ...{ ...times, disabledSince: date, disabledUntil: date },
    disabledReason: text(DisableUserRequestSchema, "reason"),
  }),
  accounts: z.strictObject(times),
  sessions: z.strictObject({
    ...{ id: text(GetSessionRequestSchema, "id"), created: date, lastSeen: date },
    ...{ ip: ofSession("ip"), userAgent: ofSession("userAgent"), authMethod: ofSession("authMethod") },
    ...{ provider: ofSession("provider"), providerSessionId: ofSession("providerSessionId") },
    impersonator: ofSession("impersonator"),
  }),
  verificationTokens: z.strictObject({}),
  authenticators: z.strictObject({
    ...{ ...times, lastUsed: date },
    displayName: text(UpdateAuthenticatorRequestSchema, "displayName"),
  }),
} satisfies Record<BulkName, z.ZodType>

const policyForm = z.strictObject({
  maxAge: z.int().optional(),
  idleTimeout: z.int().optional(),
  maxSessions: z.int().optional(),
  atLimit: z.enum(["end_oldest", "reject_new"]).optional(),
})

/** Opens a file that `authwire export --with-secrets` has printed. Throws StartError, with the line that has another form. */
export async function exportSource(path: string, tenant: string): Promise<ImportSource> {
  const counts = Object.fromEntries(bulkNames.map((name) => [name, 0])) as Record<BulkName, number>
  const starts: Partial<Record<BulkName, Place>> = {}
  let policy: SessionPolicy = {}
  let before = start
  let end: unknown
  for await (const { object, line, byte } of linesOf(path)) {
    const { table, ...rest } = object
    const name = bulkNames.find((one) => one === table)
    if (table === "sessionPolicies") {
      const { data, error } = policyForm.safeParse(rest)
      const rule = error ? ruleOf(error) : brokenRules.sessionPolicy(data)[0]
      if (rule !== undefined) throw lineError(path, line, `breaks a rule: ${rule}`)
      policy = data ?? {}
    } else if (table === "end") {
      end = rest
    } else if (name === undefined) {
      throw lineError(path, line, "is not one of authwire export; for the files of mongoexport, name their folder")
    } else if ((name === "users" && !("privateExtra" in rest)) || (name === "accounts" && !("extra" in rest))) {
      // Without this, what was left out would be taken for what there is not.
      throw lineError(path, line, "has no secrets: print them with authwire export --with-secrets")
    } else {
      starts[name] ??= before
      counts[name]++
    }
    before = { line, byte }
  }
  if (!isDeepStrictEqual(end, counts)) {
    throw new StartError(`--url: ${path} is not whole: its line "end" is missing, or counts other rows`)
  }

  return {
    notes: [],
    count: async (name) => counts[name],

    async *pages<N extends BulkName>(name: N): AsyncGenerator<Page<BulkRows[N]>> {
      const from = starts[name]
      if (from === undefined) return
      let [lines, bytes, rest]: [Line[], number, number] = [[], 0, counts[name]]
      for await (const line of linesOf(path, from)) {
        if (line.object.table !== name) continue
        lines.push(line)
        bytes += line.size
        rest--
        if (rest > 0 && lines.length < pageSize && bytes < maxPageBytes) continue
        const page = lines
        yield { length: page.length, items: () => page.map(({ object }) => itemOf(name, object, tenant)) }
        if (rest === 0) return
        lines = []
        bytes = 0
      }
    },

    sessionPolicy: async () => policy,
    close: async () => {},
  }
}

/** Where the contract has a token, a line has its SHA-256. */
const tokenOf: Partial<Record<BulkName, string>> = { sessions: "sessionToken", verificationTokens: "token" }

function itemOf<N extends BulkName>(name: N, object: Record<string, unknown>, tenant: string): Item<BulkRows[N]> {
  const { table: _table, extra, privateExtra, tokenSha256, ...rest } = object
  const token = tokenOf[name]
  const named = Object.keys(fields[name]).filter((field) => field in rest || field === token)
  const columns = [
    ...named.map((field): ReadColumn => columnOf(field, { field })),
    ...propertiesOf(extra).map((one) => columnOf(one, { decision: "keep" })),
    ...propertiesOf(privateExtra).map((one) => columnOf(one, { decision: "private" })),
  ]
  const values = [...named.map((field) => (field === token ? tokenSha256 : rest[field]))]
  const raw = new RawRow(columns, [...values, ...valuesOf(extra), ...valuesOf(privateExtra)], "Z")
  const row = convert[name](raw, tenant, false)
  if (token !== undefined) {
    const isHash = typeof tokenSha256 === "string" && /^[\da-f]{64}$/.test(tokenSha256)
    if (!isHash) raw.fault("tokenSha256", "must be a SHA-256 in hexadecimal")
    Object.assign(row, { tokenHash: isHash ? Buffer.from(tokenSha256, "hex") : Buffer.alloc(32) })
  }
  for (const field of named) delete rest[field]
  const { data, error } = ownProperties[name].safeParse(rest)
  if (error !== undefined) raw.faults.push({ kind: "invalid", detail: ruleOf(error) })
  Object.assign(row, data)
  return {
    row: raw.faults.every(({ kind }) => kind !== "invalid") ? row : undefined,
    key: keyDigest[name](row),
    label: labelOf[name](row),
    faults: raw.faults,
    conversions: raw.conversions,
  }
}

const dates: readonly string[] = ["emailVerified", "expires"]

function columnOf(name: string, rest: Pick<ReadColumn, "field"> | Pick<ReadColumn, "decision">): ReadColumn {
  const kind = dates.includes(name) ? "date" : undefined
  return { name, type: "", maxLength: undefined, folds: false, field: undefined, json: jsonReader(""), kind, ...rest }
}

const propertiesOf = (extra: unknown) => (isObject(extra) ? Object.keys(extra) : [])
const valuesOf = (extra: unknown) => (isObject(extra) ? Object.values(extra) : [])

/** Describes the first broken rule of a line. */
function ruleOf({ issues: [issue] }: z.ZodError): string {
  return `${issue?.path.join(".") || "properties"}: ${issue?.message}`
}
