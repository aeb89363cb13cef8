import { createElement } from "react"

export default function Layout({ children }) {
  return createElement("html", null, createElement("body", null, children))
}
