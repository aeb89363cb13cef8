import { migration } from "../migration.js"

const create = "CREATE INDEX api_keys_list ON api_keys (tenant, id)"

/** Makes the index of the keys of a tenant one in the order of their list. */
export const listedKeys = migration({
  name: "0012-listed-keys",
  previousVersion: { compatible: true, reason: "it does not name the index" },
  makes: { table: "api_keys", index: "api_keys_list" },
  server: "ALTER TABLE api_keys ADD INDEX api_keys_list (tenant, id), DROP INDEX api_keys_tenant",
  sqlite: [create, "DROP INDEX api_keys_tenant"],
  postgres: [create, "DROP INDEX api_keys_tenant"],
  down: {
    server: "ALTER TABLE api_keys ADD INDEX api_keys_tenant (tenant), DROP INDEX api_keys_list",
    sqlite: ["CREATE INDEX api_keys_tenant ON api_keys (tenant)", "DROP INDEX api_keys_list"],
    postgres: ["CREATE INDEX api_keys_tenant ON api_keys (tenant)", "DROP INDEX api_keys_list"],
  },
})
