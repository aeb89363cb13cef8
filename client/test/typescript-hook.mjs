import { registerHooks } from "node:module"

/** Lets Node run the sources: they import each other as ".js", and are ".ts". Collects what was imported. */
export const imported = new Set()

registerHooks({
  resolve(specifier, context, next) {
    const ours = context.parentURL?.endsWith(".ts") && /^\.{1,2}\/.*\.js$/.test(specifier)
    const resolved = next(ours ? specifier.replace(/\.js$/, ".ts") : specifier, context)
    imported.add(resolved.url)
    return resolved
  },
})
