import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect, test } from "@jest/globals"
import { slowFloors } from "../floors.ts"
import type { Figure } from "../load/turns.ts"

test("floors may be 15 % slower than the fastest of the day, and are forgotten the next day", () => {
  const folder = mkdtempSync(join(tmpdir(), "authwire-floors-"))
  const file = pathToFileURL(join(folder, "build", "floors.json"))
  const run = (date: string, throughput: number, name = "echo-stream") =>
    slowFloors([{ name, callers: 32, throughput } as Figure], date, file)
  expect(run("2026-11-22", 1_000)).toEqual([])
  expect(run("2026-11-22", 870)).toEqual([])
  expect(run("2026-11-22", 869)).toEqual(["grpc-js stream, echo, 32 at a time: 869 calls/s, 1000 earlier today"])
  expect(run("2026-11-22", 10, "drizzle")).toEqual([])
  expect(run("2026-11-23", 500)).toEqual([])
  expect(run("2026-11-22", 900)).toEqual([])
  rmSync(folder, { recursive: true })
})
