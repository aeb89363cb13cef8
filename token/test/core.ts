// The parts of @auth/core that it does not export and that ours are compared with.
export { setEnvDefaults } from "../../node_modules/@auth/core/lib/utils/env.js"
export { parse as parseCookies } from "../../node_modules/@auth/core/lib/vendored/cookie.js"
