import { fileURLToPath } from "node:url"

// The Authwire packages are links to folders of this repository.
const repository = fileURLToPath(new URL("../..", import.meta.url))

const headers = {
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
}

/** @type {import("next").NextConfig} */
export default {
  // As create-next-app writes it: what depends on the request is below a <Suspense>.
  cacheComponents: true,
  partialPrefetching: true,
  turbopack: { root: repository },
  outputFileTracingRoot: repository,
  output: process.env.NEXT_OUTPUT === "standalone" ? "standalone" : undefined,
  poweredByHeader: false,
  headers: async () => [
    { source: "/:path*", headers: Object.entries(headers).map(([key, value]) => ({ key, value })) },
  ],
}
