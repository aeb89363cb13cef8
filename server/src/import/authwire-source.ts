import { hash } from "node:crypto"
import { serialize } from "node:v8"
import { DisableUserRequestSchema, UpdateAuthenticatorRequestSchema } from "@authwire/proto"
import {
  type BulkName,
  type BulkRows,
  bulk,
  type Database,
  sessionPolicyStore,
  Unreadable,
} from "../store/sql/index.js"
import { type ImportSource, type Item, keyDigest, labelOf, type Page } from "./item.js"
import { brokenField, brokenRules } from "./peer/rules.js"
import { replicaDoubt } from "./replica.js"

/** The rules of a row. Somebody may have written it with SQL, such as an image that is larger than any call can write. */
const rulesOf: { readonly [N in BulkName]: (row: BulkRows[N]) => string[] } = {
  users: ({ privateExtra, disabledReason, ...user }) => [
    ...brokenRules.users(user),
    ...brokenRules.privateExtra(privateExtra === undefined ? undefined : JSON.parse(privateExtra)),
    ...brokenField(DisableUserRequestSchema, "reason", disabledReason).map((rule) => `disabledReason ${rule}`),
  ],
  accounts: brokenRules.accounts,
  sessions: (row) => brokenRules.sessions({ ...row, sessionToken: row.tokenHash.toString("hex") }),
  verificationTokens: (row) => brokenRules.verificationTokens({ ...row, token: row.tokenHash.toString("hex") }),
  authenticators: (row) => [
    ...brokenRules.authenticators(row),
    ...brokenField(UpdateAuthenticatorRequestSchema, "displayName", row.displayName).map(
      (rule) => `displayName ${rule}`,
    ),
  ],
}

function itemOf<N extends BulkName>(
  name: N,
  read: BulkRows[N] | Unreadable<BulkRows[N]>,
  isSound: boolean,
): Item<BulkRows[N]> {
  const row = read instanceof Unreadable ? read.key : read
  const rules = read instanceof Unreadable ? [read.problem] : isSound ? [] : rulesOf[name](row)
  const faults = rules.map((detail) => ({ kind: "invalid", detail }) as const)
  const about = { key: keyDigest[name](row), label: labelOf[name](row), faults, conversions: [] }
  return { ...about, row: faults.length === 0 ? row : undefined }
}

/** Returns a source that reads another Authwire database. `encryptionKeys` must include that database's keys. */
export async function authwireSource(
  database: Database,
  { tenant, encryptionKeys }: { tenant: string; encryptionKeys: readonly Buffer[] },
): Promise<ImportSource> {
  const tables = bulk(database, { tenant, encryptionKeys, withoutRevoked: true })
  const { type } = database.dataSource.options
  const replica = await database.withQueryRunner((runner) => replicaDoubt(type, (sql) => runner.query(sql)))
  return {
    notes: [],
    doubts: replica === undefined ? [] : [replica],
    count: (name) => tables[name].count(),
    async *pages<N extends BulkName>(name: N): AsyncGenerator<Page<BulkRows[N]>> {
      for await (const rows of tables[name].pagesWithUnreadable()) {
        const items = (isSound: boolean) => rows.map((row) => itemOf(name, row, isSound))
        yield { length: rows.length, digest: hash("sha256", serialize(rows), "base64url"), items }
      }
    },
    sessionPolicy: () => sessionPolicyStore(database).get({ tenant }),
    close: () => database.close(),
  }
}
