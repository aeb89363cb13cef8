import { expect, test } from "@jest/globals"
import type { Caller } from "../../store.js"
import { alone } from "./alone.js"

test("a caller alone keeps what the getters of a call return, but no transaction", () => {
  const signal = new AbortController().signal
  class Call implements Caller {
    readonly signal = signal
    readonly transaction = {} as Caller["transaction"]
    get tenant() {
      return "acme"
    }
  }
  expect(alone(new Call())).toEqual({ tenant: "acme", signal })
})
