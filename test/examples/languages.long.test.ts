import { describeExamples } from "./languages.js"

describeExamples("Java", "Rust")
