import { createHash, randomBytes } from "node:crypto"

/** The API key of this run. */
export const apiKey = process.env.AUTHWIRE_BENCH_API_KEY ?? newKey()
// Passes the key on to child processes.
process.env.AUTHWIRE_BENCH_API_KEY = apiKey

/** The entry of the key for the service's AUTHWIRE_API_KEYS. */
export const apiKeyEntry = JSON.stringify([
  {
    id: apiKey.split("_")[1],
    name: "the measurements",
    scopes: ["all"],
    secretSha256: createHash("sha256")
      .update(apiKey.slice(apiKey.indexOf("_", 4) + 1))
      .digest("hex"),
  },
])

function newKey(): string {
  return `awk_${randomBytes(8).toString("hex")}_${randomBytes(32).toString("base64url")}`
}
