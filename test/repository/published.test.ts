import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string) => readFileSync(join(root, path), "utf8")
const { workspaces } = JSON.parse(read("package.json")) as { workspaces: string[] }
const published = workspaces.filter((folder) => JSON.parse(read(`${folder}/package.json`)).private !== true)

// The page of a registry has only the files of the package.
test.each([...published, "gen/python"])("the README of %s has no link to files outside the package", (folder) => {
  const links = [...read(`${folder}/README.md`).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link)
  expect(links.filter((link) => !/^(https:|#)/.test(link))).toEqual([])
})

test.each(published)("%s exports its package.json, and has a README", (folder) => {
  expect(JSON.parse(read(`${folder}/package.json`)).exports["./package.json"]).toBe("./package.json")
  expect(existsSync(join(root, folder, "README.md"))).toBe(true)
})

test("links between the pages of the repository are valid", () => {
  const pages = globSync(["*.md", "docs/**/*.md", "{bench,fuzz,examples/*,deploy,site/guide}/*.md"], { cwd: root })
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => !/^(https?:|mailto:)/.test(link) && !existsSync(join(root, dirname(page), link)))
      .map((link) => `${page}: ${link}`),
  )
  expect(dead).toEqual([])
})
