import { expect, test } from "@jest/globals"
import { versionSwitch, versionsOf } from "../../site/versions.ts"

test("the site has the last release of each minor version below its name", () => {
  const latest = { name: "latest", base: "/" }
  expect(versionsOf([])).toEqual([latest])
  expect(versionsOf(["v0.2.0", "v0.1.3"])).toEqual([
    latest,
    { name: "v0.2", base: "/v0.2/", tag: "v0.2.0" },
    { name: "v0.1", base: "/v0.1/", tag: "v0.1.3" },
  ])
  expect(versionsOf(["v0.1.3", "v0.1.2"])).toEqual([latest, { name: "v0.1", base: "/v0.1/", tag: "v0.1.3" }])
})

test("there is a switch of versions only if there is more than one", () => {
  expect(versionSwitch(versionsOf([]))).toEqual([])
  const versions = versionsOf(["v0.1.0"])
  expect(versionSwitch(versions)).toEqual([{ component: "VersionSwitch", props: { versions, current: "/" } }])
})
