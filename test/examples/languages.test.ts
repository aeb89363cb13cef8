import { describeExamples } from "./languages.js"

describeExamples("Go", "Python")
