import { type Command, Help, type HelpConfiguration } from "commander"
import type { Option } from "../config/option.js"
import { optionsOf } from "../config/options.js"
import { shown } from "../config/values.js"

/** The layout of the help: commander's own part, followed by the variables that have no flag. */
export const helpConfiguration: HelpConfiguration = {
  showGlobalOptions: true,
  // The longest options leave less room than commander wants for a wrapped text.
  minWidthToWrap: 20,
  // Options of a group such as `keys` are shown with its commands, such as `keys create`. Options of `authwire` itself
  // are not.
  visibleGlobalOptions: ({ parent }) => (parent?.parent ? [...parent.options] : []),
  padWidth(command, helper) {
    const variables = variablesOf(command).map(([variable]) => variable.length)
    return Math.max(Help.prototype.padWidth.call(helper, command, helper), ...variables)
  },
  formatHelp(command, helper) {
    const width = helper.padWidth(command, helper)
    const variables = variablesOf(command).map(([variable, option]) =>
      helper.formatItem(variable, width, describe(option, pathOf(command)), helper),
    )
    const section = helper.formatItemList("Environment variables without a flag:", variables, helper)
    return [Help.prototype.formatHelp.call(helper, command, helper), ...section].join("\n")
  },
}

/** Returns the variables without a flag that the help of a command shows. */
function variablesOf(command: Command): [variable: string, option: Option][] {
  const isShort = command.options.some(({ hidden }) => hidden)
  return optionsOf(pathOf(command)).flatMap(([, option]): [string, Option][] =>
    option.flag === undefined && option.variable !== undefined && (option.isCommon || !isShort)
      ? [[option.variable, option]]
      : [],
  )
}

/** Returns the words of a command, without `authwire`. */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : ""
}

/** Returns the help text of an option, for a command by its words without `authwire`. */
export function describe(option: Option, path: string): string {
  const { flag, variable, orFile, default: preset, value } = option
  const ofCommand = Object.entries(option.helpOf ?? {}).find(([one]) => one === path || path.startsWith(`${one} `))
  const help = ofCommand?.[1] ?? option.help
  const hasDev = () => optionsOf(path).some(([, { flag }]) => flag === "dev")
  const facts = [
    preset === undefined ? "" : `default: ${preset}`,
    option.devDefault !== undefined && hasDev() ? `with --dev: ${option.devDefault}` : "",
    variable === undefined || flag === undefined ? "" : `env: ${variable}`,
    orFile ? `or the file that ${variable}_FILE names` : "",
  ].filter((fact) => fact !== "")
  return [help, shown.get(value)?.allowed ?? "", facts.length === 0 ? "" : `(${facts.join("; ")})`]
    .filter((part) => part !== "")
    .join(" ")
}
