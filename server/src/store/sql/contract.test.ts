import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { storeContract } from "@authwire/test-support/store-contract/contract.js"

for (const target of databaseTargets()) storeContract(target, () => createStoreDatabase(target))
