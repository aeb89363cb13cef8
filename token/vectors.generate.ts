// Writes vectors.json (`npm run vectors -w token`): tokens that @auth/core made, and, where it cannot make them, jose.
// README.md describes the format. Keys and ids are random, so two runs differ; src/vectors.test.ts checks what counts:
// that @auth/core and this package read every token as the file says.

import { writeFileSync } from "node:fs"
import { refusedVectors } from "./vectors/refused.ts"
import { requestVectors } from "./vectors/requests.ts"
import { validVectors } from "./vectors/valid.ts"
import type { Vectors } from "./vectors/vector.ts"

const vectors: Vectors = {
  version: 1,
  valid: await validVectors(),
  refused: await refusedVectors(),
  requests: await requestVectors(),
}
writeFileSync(new URL("./vectors.json", import.meta.url), `${JSON.stringify(vectors, undefined, 2)}\n`)
