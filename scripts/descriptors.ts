// Removes from gen/ts/descriptors.binpb what would be three fifths of it and helps nobody: the comments in the files of
// google.protobuf and buf.validate, and the places in the source at which there is no comment.

import { readFileSync, writeFileSync } from "node:fs"
import { fromBinary, toBinary } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"

const path = new URL("../gen/ts/descriptors.binpb", import.meta.url)
const set = fromBinary(FileDescriptorSetSchema, readFileSync(path))
for (const file of set.file) {
  if (file.sourceCodeInfo === undefined) continue
  const isOurs = /^(authwire|envoy)\./.test(file.package)
  file.sourceCodeInfo.location = file.sourceCodeInfo.location.filter(
    ({ leadingComments, trailingComments }) => isOurs && (leadingComments !== "" || trailingComments !== ""),
  )
}
writeFileSync(path, toBinary(FileDescriptorSetSchema, set))
