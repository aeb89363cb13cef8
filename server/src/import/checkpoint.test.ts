import { expect, test } from "@jest/globals"
import { type CheckpointOptions, checkpoint } from "./checkpoint.js"

test("a checkpoint that cannot be written is an error before anything is read", () => {
  const options = { file: "/nowhere/import.checkpoint" } as CheckpointOptions
  expect(() => checkpoint(options)).toThrow(/^--checkpoint: cannot write \/nowhere\/import.checkpoint \(.*ENOENT/)
})
