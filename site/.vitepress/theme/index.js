// A font that arrives after the first picture of a page would move its lines.
import DefaultTheme from "vitepress/theme-without-fonts"
import "./style.css"

export default DefaultTheme
