import { openShardedDatabase, shardedUrl } from "@authwire/test-support/databases/sharded-database.js"
import { storeContract } from "@authwire/test-support/store-contract/contract.js"
import { describe, test } from "@jest/globals"

const url = shardedUrl()

if (url === undefined) describe.skip("shards: AUTHWIRE_TEST_VITESS_SHARDS_URL is not set", () => test("", () => {}))
else storeContract("shards of Vitess", () => openShardedDatabase(url))
