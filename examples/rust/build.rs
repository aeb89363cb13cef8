//! Generates messages and stubs from the schema, which is committed in compiled form with its comments. The build
//! therefore needs neither protoc nor the files that the schema imports.

use std::env;
use std::error::Error;
use std::fs;

use prost::Message;
use prost_types::FileDescriptorSet;

fn main() -> Result<(), Box<dyn Error>> {
    let schema = env::var("AUTHWIRE_SCHEMA").unwrap_or_else(|_| "../../gen/ts/descriptors.binpb".into());
    println!("cargo::rerun-if-env-changed=AUTHWIRE_SCHEMA");
    println!("cargo::rerun-if-changed={schema}");
    let mut files = FileDescriptorSet::decode(fs::read(&schema)?.as_slice())?;
    files.file.retain(|file| {
        matches!(file.package(), "authwire.v1" | "google.protobuf") || file.name() == "google/rpc/status.proto"
    });
    tonic_prost_build::configure()
        .build_server(false)
        .extern_path(".google.rpc", "::tonic_types::pb")
        .compile_fds(files)?;
    Ok(())
}
