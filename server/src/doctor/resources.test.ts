import { expect, test } from "@jest/globals"
import { diagnoseConnections, diagnoseSpace } from "./resources.js"

test("a disk that is nearly full is named", () => {
  expect(diagnoseSpace({ freeBytes: 5 * 1024 ** 2 })).toEqual([
    {
      state: "wrong",
      what: "free space",
      detail: expect.stringMatching(/^5 MiB: all writes fail when it is full; free some/),
    },
  ])
  expect(diagnoseSpace({ freeBytes: 1024 ** 3 })).toEqual([{ state: "ok", what: "free space", detail: "1024 MiB" }])
  expect(diagnoseSpace({ freeBytes: undefined })).toEqual([])
})

test("connections that suffice for one process, and not for all that are known, are a warning", () => {
  const limits = [
    { of: "server", most: 100 },
    { of: "user", most: 30 },
  ] as const
  expect(diagnoseConnections({ limits }, { poolSize: 10, processes: 2 })).toMatchObject([
    { state: "ok", detail: "30 are allowed, and 2 processes that report session caches may open 24" },
  ])
  expect(diagnoseConnections({ limits }, { poolSize: 10, processes: 3 })).toMatchObject([
    {
      state: "warning",
      detail: expect.stringMatching(/^30 are allowed, and 3 processes .* may open 36, .* limit of this user/),
    },
  ])
})
