//! Sends the test vectors of token/vectors.json, which @auth/core created, to the service.

use std::error::Error;
use std::fs;
use std::process::ExitCode;

use prost_types::value::Kind;
use serde::Deserialize;
use serde_json::Value;

use crate::authwire::get_token_response::Result::{Payload, Raw};
use crate::authwire::{DecodeRequest, GetTokenRequest, Header};
use crate::{Authwire, call, json_value, reason};

#[derive(Deserialize)]
struct Vectors {
    valid: Vec<Vector>,
    refused: Vec<Vector>,
    requests: Vec<RequestVector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    secrets: Vec<String>,
    salt: String,
    token: String,
    clock: Option<String>,
    /// The expected payload of a valid token.
    payload: Option<Value>,
    /// The expected error code of a refused token.
    code: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestVector {
    name: String,
    headers: Vec<(String, String)>,
    cookie_name: Option<String>,
    secure_cookie: Option<bool>,
    salt: Option<String>,
    secrets: Vec<String>,
    #[serde(default)]
    raw: bool,
    payload: Value,
}

/// Prints the failures and counts. Skips the vectors that need a frozen clock.
pub async fn run(authwire: Authwire, file: &str) -> Result<ExitCode, Box<dyn Error>> {
    let vectors: Vectors = serde_json::from_str(&fs::read_to_string(file)?)?;
    let (mut passed, mut failed, mut left_out) = (0, 0, 0);
    let mut check = |name: &str, got: Value, want: Value| {
        let want = doubles(want);
        if got == want {
            passed += 1;
        } else {
            failed += 1;
            println!("failed: {name}: got {got}, want {want}");
        }
    };
    for vector in vectors.valid.into_iter().chain(vectors.refused) {
        if vector.clock.as_deref() == Some("frozen") {
            left_out += 1;
            continue;
        }
        let want = vector.payload.or(vector.code.map(Into::into)).unwrap_or_default();
        let request = DecodeRequest { token: vector.token, salt: vector.salt, secrets: vector.secrets, ..Default::default() };
        let got = match authwire.tokens.clone().decode(call(request)).await {
            Ok(answer) => json_value(Kind::StructValue(answer.into_inner().payload.unwrap_or_default())),
            Err(status) => reason(&status).into(),
        };
        check(&vector.name, got, want);
    }
    for vector in vectors.requests {
        let request = GetTokenRequest {
            headers: vector.headers.into_iter().map(|(name, value)| Header { name, value }).collect(),
            cookie_name: vector.cookie_name,
            secure_cookie: vector.secure_cookie,
            salt: vector.salt,
            secrets: vector.secrets,
            raw: vector.raw,
            ..Default::default()
        };
        let got = match authwire.tokens.clone().get_token(call(request)).await.map(|answer| answer.into_inner().result)
        {
            Ok(Some(Payload(claims))) => json_value(Kind::StructValue(claims)),
            Ok(Some(Raw(token))) => token.into(),
            Ok(None) => Value::Null,
            Err(status) => format!("error: {}", reason(&status)).into(),
        };
        check(&vector.name, got, vector.payload);
    }
    println!("{passed} passed, {failed} failed, {left_out} left out");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the same JSON with every number as a double, as in a google.protobuf.Struct.
fn doubles(json: Value) -> Value {
    match json {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(values) => values.into_iter().map(doubles).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, doubles(value))).collect(),
        other => other,
    }
}
