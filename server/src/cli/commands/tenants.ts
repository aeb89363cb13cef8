import { setTimeout as delay } from "node:timers/promises"
import { tenantName } from "../../auth/key-fields.js"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { StartError } from "../../errors/start-error.js"
import { StoreError } from "../../errors/store-error.js"
import { apiKeyStore, databaseClock, tenantStore } from "../../store/sql/index.js"
import { table, typedLine, type Work } from "./output.js"
import { beingDeleted, findTenant, withDatabase } from "./with-database.js"

/** `authwire tenants create NAME`. Throws ConfigurationError and StartError. */
export const createTenant: Work<"tenants create"> = async (configuration, { print }, name) => {
  if (!tenantName.test(name)) {
    throw new ConfigurationError(
      "tenants create: a name has 1 to 63 characters of a-z, 0-9 and -, and does not begin with -",
    )
  }
  await withDatabase(configuration, async (database) => {
    // The times of what waits to be stored for a tenant of the name are also those of the database.
    const created = await databaseClock(database)(database.reads({}))
    await tenantStore(database)
      .create({}, { name, created })
      .catch(async (error: unknown) => {
        if (!(error instanceof StoreError && error.reason === "TENANT_ALREADY_EXISTS")) throw error
        const isMarked = (await findTenant(database, name))?.deleted !== undefined
        throw new StartError(isMarked ? beingDeleted(name) : `the tenant ${name} already exists`)
      })
  })
  print(`created ${name}: create a key for it with: authwire keys create --name NAME --scopes all --tenant ${name}\n`)
}

/** `authwire tenants list`. Throws StartError. */
export const listTenants: Work<"tenants list"> = async (configuration, { print, say }) => {
  const all = await withDatabase({ ...configuration, readOnly: true }, (database) => tenantStore(database).list({}))
  const rows = all.map((tenant) => [tenant.name, tenant.created.toISOString().replace(/\.\d+Z$/, "Z")])
  print(table(["name", "created"], rows))
  for (const { name, deleted } of all) if (deleted !== undefined) say(`${beingDeleted(name)}\n`)
}

/** The time after which every server rejects a revoked key, in milliseconds. */
const revokedMs = 5_000

/** How often calls that were admitted before may get in between, and the time after which it goes on, in milliseconds. */
const [mostMet, metMs] = [100, 100]

/**
 * `authwire tenants delete NAME`: marks the tenant, so that it gets no further keys and users, revokes its keys, waits until every server
 * rejects them, and deletes its data in batches. Its name is taken until nothing of it is left. If the command ends early, it can
 * be run again. Throws ConfigurationError and StartError.
 */
export const deleteTenant: Work<"tenants delete"> = async (configuration, { print, say }, name) => {
  const { batch, dryRun, confirm } = configuration
  if (name === "default") throw new ConfigurationError("tenants delete: the tenant default always exists")
  const advice = "; rows that were deleted stay deleted, and the command can be run again"
  await withDatabase(
    { ...configuration, readOnly: dryRun },
    async (database) => {
      if ((await findTenant(database, name)) === undefined) throw new StartError(`there is no tenant ${name}`)
      const tenants = tenantStore(database)
      if (dryRun) {
        await print(countsOf(await tenants.count({}, name), "would be deleted"))
        say("dry run: nothing was deleted\n")
        return
      }
      const question = `All data of ${name} is deleted, and its keys end. Type the name of the tenant again: `
      if ((confirm ?? (await typedLine(question, say))) !== name)
        throw new ConfigurationError(`tenants delete: the name that was repeated is not ${name}: nothing was deleted`)
      const now = await databaseClock(database)(database.reads({}))
      await tenants.mark({}, { name, deleted: now })
      const apiKeys = apiKeyStore(database)
      const keys = (await apiKeys.list({})).filter((key) => key.tenant === name)
      for (const { id } of keys) await apiKeys.revoke({}, id, now)
      if (keys.some(({ revoked }) => revoked === undefined || now.getTime() - revoked.getTime() < revokedMs)) {
        say(`the keys of ${name} are revoked; its data is deleted in 5 seconds, when every server rejects them\n`)
        await delay(revokedMs)
      }
      const deleted = new Map<string, number>()
      for (let met = 0; ; ) {
        const rows = await tenants.deleteBatch({}, name, batch)
        if (rows === null) break
        if (rows.count === 0) {
          if (++met > mostMet) throw new StartError(`calls still write rows of users of ${name}`)
          await delay(metMs)
          continue
        }
        deleted.set(rows.table, (deleted.get(rows.table) ?? 0) + rows.count)
      }
      const counts = [...deleted].map(([table, count]) => ({ table, count }))
      await print(`${countsOf(counts, "deleted")}deleted ${name}\n`)
    },
    { what: "tenants delete", advice },
  )
}

const countsOf = (rows: readonly { table: string; count: number }[], what: string) =>
  rows.map(({ table, count }) => `${table}: ${count} ${what}\n`).join("")
