import { fileURLToPath } from "node:url"

// The application is copied to a folder in this repository, from which it imports packages.
const root = fileURLToPath(new URL(process.env.AUTHWIRE_REPOSITORY, "file:"))

/** @type {import("next").NextConfig} */
export default { turbopack: { root }, outputFileTracingRoot: root }
