import { databaseTargets } from "../../../../test/support/databases.js"
import { createStoreDatabase } from "../../../../test/support/store-database.js"
import { storeContract } from "../conformance.js"

for (const target of databaseTargets()) storeContract(target, () => createStoreDatabase(target))
