import { tenantName } from "../../auth/key-fields.js"
import type { Configuration } from "../../config/configuration.js"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { StartError } from "../../errors/start-error.js"
import { StoreError } from "../../errors/store-error.js"
import { tenantStore } from "../../store/sql/index.js"
import { type CommandOutput, table } from "./output.js"
import { withDatabase } from "./with-database.js"

/** `authwire tenants create NAME`. Throws ConfigurationError and StartError. */
export async function createTenant(
  configuration: Configuration<"tenants create">,
  { print }: CommandOutput,
  name: string,
): Promise<undefined> {
  if (!tenantName.test(name)) {
    throw new ConfigurationError(
      "tenants create: a name has 1 to 63 characters of a-z, 0-9 and -, and does not begin with -",
    )
  }
  await withDatabase(configuration, (database) =>
    tenantStore(database)
      .create({}, { name, created: new Date() })
      .catch((error: unknown) => {
        if (!(error instanceof StoreError && error.reason === "TENANT_ALREADY_EXISTS")) throw error
        throw new StartError(`the tenant ${name} already exists`)
      }),
  )
  print(`created ${name}: create a key for it with: authwire keys create --name NAME --scopes all --tenant ${name}\n`)
}

/** `authwire tenants list`. Throws StartError. */
export async function listTenants(
  configuration: Configuration<"tenants list">,
  { print }: CommandOutput,
): Promise<undefined> {
  const all = await withDatabase({ ...configuration, readOnly: true }, (database) => tenantStore(database).list({}))
  const rows = all.map((tenant) => [tenant.name, tenant.created.toISOString().replace(/\.\d+Z$/, "Z")])
  print(table(["name", "created"], rows))
}
