// expressions.js: reads the alerts and the dashboard in deploy/, and prints each of their PromQL expressions as JSON
// with the names of its metrics. `isWhole` tells whether the expression parses. `problems` lists what Prometheus would
// not accept in an alert.
import { readFileSync } from "node:fs"
import { parser } from "@prometheus-io/lezer-promql"
import { parse } from "yaml"

const read = (path) => readFileSync(new URL(`../../deploy/${path}`, import.meta.url), "utf8")

const { groups } = parse(read("helm/authwire/alerts.yaml"))
const alerts = groups.flatMap(({ name, rules, ...rest }) =>
  rules.map((rule) => ({
    where: `alert ${rule.alert}`,
    problems: [
      ...unknown(rest, []),
      ...problemsOf(rule),
      ...(typeof name === "string" ? [] : ["its group has no name"]),
    ],
    ...expressionOf(rule.expr),
  })),
)
const dashboard = JSON.parse(read("grafana/authwire.json"))
const panels = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ where: `panel ${title}`, problems: [], ...expressionOf(expr) })),
)
console.log(JSON.stringify([...alerts, ...panels]))

/** The format of a Prometheus rule: https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/ */
function problemsOf({ alert, expr, for: lasts, labels = {}, annotations = {}, ...rest }) {
  return [
    ...unknown(rest, ["keep_firing_for"]),
    ...(/^[A-Z]\w+$/.test(alert) ? [] : ["its name is no name"]),
    ...(typeof expr === "string" ? [] : ["its expression is no text"]),
    ...(/^([1-9]\d*[smhd])+$/.test(lasts) ? [] : ["for is no duration"]),
    ...(["critical", "warning", "info"].includes(labels.severity) ? [] : ["it has no severity"]),
    ...(annotations.summary && annotations.description ? [] : ["it lacks a summary or a description"]),
  ]
}

function unknown(fields, known) {
  return Object.keys(fields)
    .filter((name) => !known.includes(name))
    .map((name) => `${name} is no field`)
}

/** Replaces Grafana's variables with a duration and a list of names, as Grafana does. */
function expressionOf(text) {
  const expression = String(text).replaceAll("$__rate_interval", "5m").replaceAll("$instance", "a|b")
  const names = new Set()
  let isWhole = true
  parser.parse(expression).iterate({
    enter({ type, node, from, to }) {
      if (type.isError) isWhole = false
      if (type.name !== "VectorSelector") return
      const name = node.getChild("Identifier")
      names.add(name === null ? expression.slice(from, to) : expression.slice(name.from, name.to))
    },
  })
  return { expression, isWhole, names: [...names] }
}
