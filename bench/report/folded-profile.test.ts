import { describe, expect, test } from "@jest/globals"
import type { CpuProfile } from "../servers/inspector.ts"
import { flameGraph } from "./flame-graph.ts"
import { foldProfile, sharesByFunction, sharesByGroup } from "./folded-profile.ts"

const frame = (functionName: string, url: string) => ({ functionName, url, lineNumber: 9, columnNumber: 0 })

// main calls query twice, from different places; query writes. Half of the time nothing happens.
const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame("(root)", ""), children: [2, 3] },
    { id: 2, callFrame: frame("(idle)", "") },
    { id: 3, callFrame: frame("main", "file:///a/server/dist/main.js"), children: [4, 5] },
    { id: 4, callFrame: frame("query", "file:///a/node_modules/mysql2/lib/<pool>.js"), children: [6] },
    { id: 5, callFrame: frame("query", "file:///a/node_modules/mysql2/lib/<pool>.js") },
    { id: 6, callFrame: frame("write", "") },
  ],
  samples: [2, 3, 4, 5, 6, 2],
  timeDeltas: [0, 400, 100, 100, 100, 100],
}

describe("foldProfile", () => {
  test("adds up what is called from the same place, and leaves out the time in which nothing happens", () => {
    const root = foldProfile(profile)
    expect(root.total).toBe(400)
    const [main] = root.children
    expect(main).toMatchObject({ name: "main", where: "server/dist/main.js:10", self: 100, total: 400 })
    expect(main?.children).toMatchObject([{ name: "query", where: "mysql2/lib/<pool>.js:10", self: 200, total: 300 }])
  })

  test("native code counts for whoever calls it", () => {
    expect(sharesByGroup(foldProfile(profile))).toEqual([
      { name: "mysql2", share: 0.75 },
      { name: "authwire", share: 0.25 },
    ])
  })

  test("shares of functions are of their own time", () => {
    expect(sharesByFunction(foldProfile(profile))[0]).toEqual({
      name: "query",
      where: "mysql2/lib/<pool>.js:10",
      share: 0.5,
    })
  })
})

describe("flameGraph", () => {
  const svg = flameGraph(foldProfile(profile), "a & b")

  test("a frame is as wide as its share, and stands on its caller", () => {
    const boxes = [...svg.matchAll(/<g><title>(\w+).*?<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"/g)]
    const widths = Object.fromEntries(boxes.map(([, name, , , width]) => [name, Number(width)]))
    expect(widths).toEqual({ all: 1199.5, main: 1199.5, query: 899.5, write: 299.5 })
    const heights = boxes.map(([, , , y]) => Number(y))
    expect(heights.toSorted((one, other) => other - one)).toEqual(heights)
  })

  test("text is escaped", () => {
    expect(svg).toContain("a &amp; b")
    expect(svg).toContain("&lt;pool&gt;")
  })
})
