// Executes a Dockerfile in folders of this machine, without a container engine.
import { execFileSync } from "node:child_process"
import { copyFileSync, cpSync, mkdirSync, readFileSync } from "node:fs"
import { dirname, join, posix, relative } from "node:path"
import dockerignore from "@balena/dockerignore"
import { DockerfileParser } from "dockerfile-ast"

/**
 * Builds the last stage of a Dockerfile. Returns the image. Its `root` is the folder that stands for `/` and contains
 * only the files of the Dockerfile. The other properties are `workdir`, `env`, `user`, `entrypoint`, `cmd` and
 * `healthcheck`.
 *
 * Only Node is taken from the base image, and it must have the version of this process. Throws for an instruction, or a
 * form of one, that is not supported.
 */
export function buildImage({ dockerfile, context, folder }) {
  const variables = {}
  const stages = new Map()
  let image

  const expand = (text) => text.replaceAll(/\$\{(\w+)\}/g, (_, name) => variables[name] ?? "")
  const inside = (path) => join(image.root, posix.resolve(image.workdir, path))
  const json = (text) => JSON.parse(text)

  const instructions = {
    ARG(text) {
      const [, name, preset] = /^(\w+)=(.*)$/.exec(text)
      variables[name] = preset
    },
    FROM(text) {
      const [, base, name = String(stages.size)] = /^(\S+)(?: AS (\S+))?$/.exec(expand(text))
      image = { root: join(folder, name), workdir: "/", env: {}, user: "0:0", entrypoint: [], cmd: [] }
      stages.set(name, image)
      installNode(base, image.root)
    },
    LABEL() {},
    EXPOSE() {},
    ENV(_text, instruction) {
      for (const property of instruction.getProperties()) image.env[property.getName()] = property.getValue()
    },
    WORKDIR(text) {
      image.workdir = posix.resolve(image.workdir, text)
      mkdirSync(inside("."), { recursive: true })
    },
    COPY(text, instruction) {
      const stage = instruction.getFromFlag()?.getValue()
      const [, from, to] = /^(\S+) (\S+)$/.exec(text)
      const source = stage === undefined ? context : stages.get(stage).root
      const filter = stage === undefined ? notIgnored(context) : () => true
      cpSync(join(source, from), inside(to), { recursive: true, verbatimSymlinks: true, filter })
    },
    RUN(text) {
      const { NODE_ENV: _env, NODE_OPTIONS: _options, ...inherited } = process.env
      const env = { ...inherited, ...image.env, PATH: `${join(image.root, "usr/local/bin")}:${process.env.PATH}` }
      execFileSync("sh", ["-c", text], { cwd: inside("."), env, stdio: ["ignore", "inherit", "inherit"] })
    },
    USER(text) {
      image.user = text
    },
    HEALTHCHECK(text) {
      image.healthcheck = json(text.slice(text.indexOf("CMD") + 3))
    },
    ENTRYPOINT(text) {
      image.entrypoint = json(text)
    },
    CMD(text) {
      image.cmd = json(text)
    },
  }

  for (const instruction of DockerfileParser.parse(readFileSync(dockerfile, "utf8")).getInstructions()) {
    const keyword = instruction.getKeyword()
    if (!(keyword in instructions)) throw new Error(`${dockerfile}: what ${keyword} does is not known here`)
    instructions[keyword](instruction.getArgumentsContent(), instruction)
  }
  return image
}

function installNode(base, root) {
  const version = /^node:(\d+\.\d+\.\d+)-/.exec(base)?.[1]
  if (version !== process.versions.node) throw new Error(`${base}: this is Node ${process.versions.node}`)
  const program = join(root, "usr/local/bin/node")
  mkdirSync(dirname(program), { recursive: true })
  copyFileSync(process.execPath, program)
}

function notIgnored(context) {
  const ignore = dockerignore().add(readFileSync(join(context, ".dockerignore"), "utf8"))
  return (path) => {
    const name = relative(context, path)
    return name === "" || !ignore.ignores(name)
  }
}
