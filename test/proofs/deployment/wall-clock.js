// Loaded before the service: adds an offset to the wall clock that JavaScript sees. The offset, in milliseconds, is in
// the file that AUTHWIRE_PROOFS_CLOCK names, and is read again at SIGUSR2. The monotonic clock is not changed.
import { readFileSync } from "node:fs"

const read = () => Number(readFileSync(process.env.AUTHWIRE_PROOFS_CLOCK, "utf8"))
const Right = Date
let offset = read()

globalThis.Date = class SteppedDate extends Right {
  constructor(...parts) {
    if (parts.length === 0) super(Right.now() + offset)
    else super(...parts)
  }
  static now() {
    return Right.now() + offset
  }
}

process.on("SIGUSR2", () => {
  offset = read()
})
