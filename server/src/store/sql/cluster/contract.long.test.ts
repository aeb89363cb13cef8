import { clusters } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { storeContract } from "@authwire/test-support/store-contract/contract.js"

// With two stores on two members that both accept writes.
for (const { name, engine, url } of clusters())
  storeContract(name, () => createStoreDatabase(engine, { serverUrl: url }))
