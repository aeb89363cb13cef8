// A font that arrives after the first picture of a page would move its lines.
import DefaultTheme from "vitepress/theme-without-fonts"
import { h } from "vue"
import "./style.css"

/** Leads to the first page of another version, which is another site for VitePress. */
function VersionSwitch({ versions, current }) {
  const options = versions.map(({ name, base }) => h("option", { value: base, selected: base === current }, name))
  return h("select", { "aria-label": "Version", onChange: ({ target }) => location.assign(target.value) }, options)
}
VersionSwitch.props = ["versions", "current"]

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => app.component("VersionSwitch", VersionSwitch),
}
