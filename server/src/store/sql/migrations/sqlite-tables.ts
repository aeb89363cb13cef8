import type { QueryRunner } from "typeorm"

/** A table of SQLite, which cannot change the key of one that is there: it is made anew. */
interface SqliteTable {
  name: string
  /** `"id" text NOT NULL`, …: what both forms have. */
  columns: readonly string[]
  key: readonly string[]
  indices: readonly { name: string; unique?: boolean; columns: readonly string[] }[]
}

const user = '"user_id" text NOT NULL'
const extra = '"extra" text NOT NULL'

/** Users first: the others refer to them. */
const tables: readonly SqliteTable[] = [
  {
    name: "users",
    columns: [
      '"id" text NOT NULL',
      '"email" text',
      '"email_key" text',
      '"email_verified" datetime',
      '"name" text',
      '"image" text',
      extra,
    ],
    key: ["id"],
    indices: [{ name: "users_email_key", unique: true, columns: ["email_key"] }],
  },
  {
    name: "accounts",
    columns: [
      '"provider" text NOT NULL',
      '"provider_account_id" text NOT NULL',
      user,
      '"type" text NOT NULL',
      '"access_token" text',
      '"token_type" text',
      '"id_token" text',
      '"refresh_token" text',
      '"scope" text',
      '"expires_in" double',
      '"expires_at" double',
      '"authorization_details" text',
      extra,
    ],
    key: ["provider", "provider_account_id"],
    indices: [{ name: "accounts_user_id", columns: ["user_id"] }],
  },
  {
    name: "sessions",
    columns: ['"token_hash" blob NOT NULL', user, '"expires" datetime NOT NULL', extra],
    key: ["token_hash"],
    indices: [{ name: "sessions_user_id", columns: ["user_id"] }],
  },
  {
    name: "authenticators",
    columns: [
      '"credential_id" text NOT NULL',
      user,
      '"provider_account_id" text NOT NULL',
      '"credential_public_key" text NOT NULL',
      '"counter" integer NOT NULL',
      '"credential_device_type" text NOT NULL',
      '"credential_backed_up" boolean NOT NULL',
      '"transports" text',
      extra,
    ],
    key: ["credential_id"],
    indices: [{ name: "authenticators_user_id", columns: ["user_id"] }],
  },
]

/** Makes the four tables anew with what they hold, with the tenant in every key (`tenant: true`) or without it. */
export function rebuildTables({ tenant }: { tenant: boolean }): (runner: QueryRunner) => Promise<void> {
  return async (runner) => {
    for (const table of tables) await runner.query(create(table, tenant))
    for (const { name, columns } of tables) {
      const names = columns.map((column) => column.split(" ", 1)[0]).join(", ")
      const [into, from] = tenant ? [`"tenant", ${names}`, `'default', ${names}`] : [names, names]
      await runner.query(`INSERT INTO "${name}_new" (${into}) SELECT ${from} FROM "${name}"`)
    }
    for (const { name } of tables.toReversed()) await runner.query(`DROP TABLE "${name}"`)
    for (const { name } of tables) await runner.query(`ALTER TABLE "${name}_new" RENAME TO "${name}"`)
    for (const { name: table, indices } of tables) {
      for (const { name, unique, columns } of indices) {
        const list = quoted(tenant ? ["tenant", ...columns] : columns)
        await runner.query(`CREATE ${unique ? "UNIQUE " : ""}INDEX "${name}" ON "${table}" (${list})`)
      }
    }
    await runner.query(`CREATE INDEX "sessions_expires" ON "sessions" ("expires")`)
  }
}

function create({ name, columns, key }: SqliteTable, tenant: boolean): string {
  const with_ = (names: readonly string[]) => quoted(tenant ? ["tenant", ...names] : names)
  const parts = [
    ...(tenant ? ['"tenant" text NOT NULL'] : []),
    ...columns,
    ...(columns.includes(user)
      ? [
          `CONSTRAINT "${name}_user_id_fkey" FOREIGN KEY (${with_(["user_id"])}) REFERENCES "users_new" (${with_(["id"])})
        ON DELETE NO ACTION ON UPDATE NO ACTION`,
        ]
      : []),
    `PRIMARY KEY (${with_(key)})`,
  ]
  return `CREATE TABLE "${name}_new" (${parts.join(", ")})`
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ")
}
