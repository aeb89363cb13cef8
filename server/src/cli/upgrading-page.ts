import { migrations } from "../store/sql/index.js"

const section = /(?<=<!-- Migrations\. [^>]*-->\n\n)[\s\S]*?(?=\n\n<!-- End of the migrations\. -->)/

/** Returns docs/upgrading.md with an updated table of migrations. Called by scripts/gen. */
export function withMigrations(page: string): string {
  if (!section.test(page)) throw new Error("the page has no section of migrations")
  const rows = migrations.map((Each) => {
    const { name = "", previousVersion } = new Each()
    const cells = [
      `\`${name.replace(/-\d{13}$/, "")}\``,
      previousVersion.compatible ? "yes" : "no",
      previousVersion.reason,
    ]
    return `| ${cells.join(" | ")} |`
  })
  const head = "| migration | the previous version can run on it | because |\n| --- | --- | --- |"
  return page.replace(section, [head, ...rows].join("\n"))
}
