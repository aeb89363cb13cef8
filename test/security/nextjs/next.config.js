import { fileURLToPath } from "node:url"

// The application is copied to a folder below this repository, which holds the packages that it takes from there.
const root = fileURLToPath(new URL(process.env.AUTHWIRE_REPOSITORY, "file:"))

/** @type {import("next").NextConfig} */
export default { turbopack: { root }, outputFileTracingRoot: root }
