import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { storeContract } from "@authwire/test-support/store-contract/contract.js"

// With the fewest rights that are documented.
for (const target of databaseTargets()) storeContract(target, () => createStoreDatabase(target, { twoUsers: true }))
