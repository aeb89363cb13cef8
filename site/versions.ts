// The versions whose pages are on the site, as build.js passes them to the build of each.

export interface SiteVersion {
  readonly name: string
  /** Where its pages are: `/`, or `/v1.2/` for those of a release. */
  readonly base: string
  /** The tag of the release. Undefined for what is checked out. */
  readonly tag?: string | undefined
}

/** Where the pages of this build are. */
export const base = process.env.AUTHWIRE_SITE_BASE ?? "/"

const built: SiteVersion[] = JSON.parse(process.env.AUTHWIRE_SITE_VERSIONS ?? "[]")

/** Returns the versions of a site with these releases, newest first: of each minor version its last release. */
export function versionsOf(tags: readonly string[]): SiteVersion[] {
  const byName = Map.groupBy(tags, (tag) => /^v\d+\.\d+/.exec(tag)?.[0] ?? tag)
  const releases = [...byName].map(([name, [tag]]) => ({ name, base: `/${name}/`, tag }))
  return [{ name: "latest", base: "/" }, ...releases]
}

/** Returns the switch of versions for the navigation: nothing if there is only one. */
export function versionSwitch(versions = built) {
  return versions.length < 2 ? [] : [{ component: "VersionSwitch", props: { versions, current: base } }]
}
