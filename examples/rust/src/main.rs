//! Shows how a Rust backend uses Authwire. See README.md.

mod serve;
mod signed_in;
mod vectors;

use std::error::Error;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Duration;

use prost_types::value::Kind;
use serde_json::json;
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};
use tonic_types::StatusExt;

use authwire::introspection_service_client::IntrospectionServiceClient;
use authwire::token_service_client::TokenServiceClient;
use authwire::user_service_client::UserServiceClient;
use authwire::{CreateUserRequest, DecodeRequest, GetUserByEmailRequest};

/// The code that build.rs generates from the schema.
pub mod authwire {
    #![allow(clippy::all, clippy::pedantic)]
    tonic::include_proto!("authwire.v1");
}

const USAGE: &str = "\
usage: example decode [--cookie NAME] TOKEN             what a token says
       example serve [--cookie NAME] [--listen ADDRESS] answer GET /me with who is signed in
       example user EMAIL                               create a user, or find the one with this address
       example vectors FILE                             run the test vectors of token/vectors.json
The address of Authwire is read from AUTHWIRE_URL; default http://127.0.0.1:50051. Its API key: AUTHWIRE_API_KEY.
With https:// it speaks TLS; AUTHWIRE_TLS_CA is a file of authorities (PEM) to trust in place of the system's.";

/// The timeout of a call. Without a deadline, a call could wait forever if the network does not respond.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The clients of the services, which share one connection. Clones share it too.
#[derive(Clone)]
pub struct Authwire {
    tokens: TokenServiceClient<Channel>,
    introspection: IntrospectionServiceClient<Channel>,
    users: UserServiceClient<Channel>,
}

impl Authwire {
    /// Connects at the first call, and again after a lost connection. Uses TLS for https://, and no TLS for http://.
    fn new(url: String, authorities: Option<String>) -> Result<Self, Box<dyn Error>> {
        let mut endpoint = Endpoint::from_shared(url)?.connect_timeout(TIMEOUT);
        if endpoint.uri().scheme_str() == Some("https") {
            let tls = ClientTlsConfig::new();
            endpoint = endpoint.tls_config(match authorities {
                Some(file) => tls.ca_certificate(Certificate::from_pem(std::fs::read(file)?)),
                None => tls.with_native_roots(),
            })?;
        }
        let channel = endpoint.connect_lazy();
        Ok(Self {
            tokens: TokenServiceClient::new(channel.clone()),
            introspection: IntrospectionServiceClient::new(channel.clone()),
            users: UserServiceClient::new(channel),
        })
    }
}

/// The API key for every call. An Authwire with --dev needs none.
static AUTHORIZATION: LazyLock<Option<AsciiMetadataValue>> =
    LazyLock::new(|| format!("Bearer {}", std::env::var("AUTHWIRE_API_KEY").ok()?).parse().ok());

/// Returns a request with a deadline and the API key.
pub fn call<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(TIMEOUT);
    if let Some(value) = &*AUTHORIZATION {
        request.metadata_mut().insert("authorization", value.clone());
    }
    request
}

/// Returns why a call failed, as a name of proto/authwire/v1/error_reason.proto without its prefix. Empty if the
/// service did not give a reason. In that case use the status code.
pub fn reason(status: &Status) -> String {
    match status.get_details_error_info() {
        Some(info) if info.domain == "authwire" => info.reason,
        _ => String::new(),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("example: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let cookie = option(&mut words, "--cookie", "authjs.session-token");
    let listen = option(&mut words, "--listen", "127.0.0.1:8094");
    let url = std::env::var("AUTHWIRE_URL").unwrap_or_else(|_| "http://127.0.0.1:50051".into());
    let authwire = Authwire::new(url, std::env::var("AUTHWIRE_TLS_CA").ok())?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["decode", token] => decode(authwire, token, &cookie).await?,
        ["serve"] => serve::serve(authwire, &listen, cookie).await?,
        ["user", email] => user(authwire, email).await?,
        ["vectors", file] => return vectors::run(authwire, file).await,
        _ => {
            eprintln!("{USAGE}");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the claims of a token. Auth.js uses the name of the cookie as the salt.
async fn decode(mut authwire: Authwire, token: &str, cookie: &str) -> Result<(), Box<dyn Error>> {
    let request = DecodeRequest { token: token.into(), salt: cookie.into(), secrets: vec![], ..Default::default() };
    let answer = authwire.tokens.decode(call(request)).await.map_err(|status| match reason(&status).as_str() {
        "TOKEN_EXPIRED" => "the token has expired".into(),
        why @ ("TOKEN_MALFORMED" | "TOKEN_ALGORITHM_NOT_ALLOWED" | "NO_MATCHING_SECRET") => {
            format!("this is not a token of ours ({why})")
        }
        _ => status.to_string(),
    })?;
    let claims = answer.into_inner().payload.unwrap_or_default();
    println!("{}", json_value(Kind::StructValue(claims)));
    Ok(())
}

/// Creates a user with an e-mail address and reads it back. If the address is taken, it reads the existing user.
async fn user(mut authwire: Authwire, email: &str) -> Result<(), Box<dyn Error>> {
    let request = CreateUserRequest { email: Some(email.into()), ..Default::default() };
    let created = match authwire.users.create_user(call(request)).await {
        Ok(_) => true,
        Err(status) if reason(&status) == "EMAIL_ALREADY_EXISTS" => false,
        Err(status) => return Err(status.into()),
    };
    let request = GetUserByEmailRequest { email: email.into() };
    let answer = authwire.users.get_user_by_email(call(request)).await?;
    let user = answer.into_inner().user.unwrap_or_default();
    println!("{}", json!({ "userId": user.id, "name": user.name, "email": user.email, "created": created }));
    Ok(())
}

/// Converts a value of a google.protobuf.Struct to JSON.
pub fn json_value(kind: Kind) -> serde_json::Value {
    match kind {
        Kind::NullValue(_) => serde_json::Value::Null,
        Kind::BoolValue(value) => value.into(),
        Kind::NumberValue(value) => value.into(),
        Kind::StringValue(value) => value.into(),
        Kind::ListValue(list) => list.values.into_iter().filter_map(|value| value.kind).map(json_value).collect(),
        Kind::StructValue(object) => {
            object.fields.into_iter().filter_map(|(name, value)| Some((name, json_value(value.kind?)))).collect()
        }
    }
}

/// Removes an option and its value from the words, and returns the value.
fn option(words: &mut Vec<String>, name: &str, otherwise: &str) -> String {
    match words.iter().position(|word| word == name) {
        Some(at) if at + 1 < words.len() => {
            words.remove(at);
            words.remove(at)
        }
        _ => otherwise.into(),
    }
}
