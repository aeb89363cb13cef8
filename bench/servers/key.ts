import { createHash } from "node:crypto"

const id = "measurements0000"
const secret = "for-measurements-on-loopback-and-for-no-use"

/** The key that the measured clients come with, as those of production do. */
export const apiKey = `awk_${id}_${secret}`

/** What makes a service let it in, as AUTHWIRE_API_KEYS. */
export const apiKeys = JSON.stringify([
  {
    id,
    name: "measurements",
    scopes: ["all"],
    secretSha256: createHash("sha256").update(secret).digest("hex"),
  },
])
