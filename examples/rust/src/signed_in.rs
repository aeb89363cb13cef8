//! Who is signed in.

use axum::http::HeaderMap;
use percent_encoding::percent_decode_str;
use prost_types::value::Kind;
use serde::Serialize;
use tonic::Status;

use crate::authwire::get_token_response::Result::Payload;
use crate::authwire::{GetSessionAndUserRequest, GetTokenRequest, Header};
use crate::{Authwire, call, reason};

/// Who is signed in, and by which kind of session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    user_id: String,
    name: Option<String>,
    email: Option<String>,
    by: &'static str,
}

/// Finds the user of a request, `None` if nobody is signed in. After an error that is not known: an outage must never
/// look like a sign-out. An application has one kind of session, and needs one of the two halves.
pub async fn who_is_signed_in(
    authwire: &Authwire,
    headers: &HeaderMap,
    cookie: &str,
) -> Result<Option<Identity>, Status> {
    match by_jwt(authwire, headers, cookie).await? {
        Some(who) => Ok(Some(who)),
        None => by_session(authwire, headers, cookie).await,
    }
}

/// Asks for the claims of the token that the cookie holds, whole or in chunks, or else `Authorization: Bearer`.
async fn by_jwt(authwire: &Authwire, headers: &HeaderMap, cookie: &str) -> Result<Option<Identity>, Status> {
    let mut request = GetTokenRequest { cookie_name: Some(cookie.into()), ..Default::default() };
    for name in ["cookie", "authorization"] {
        for value in headers.get_all(name) {
            let value = String::from_utf8_lossy(value.as_bytes()).into();
            request.headers.push(Header { name: name.into(), value });
        }
    }
    let answer = authwire.tokens.clone().get_token(call(request)).await?.into_inner();
    let Some(Payload(mut claims)) = answer.result else { return Ok(None) };
    let mut text = |name: &str| match claims.fields.remove(name)?.kind? {
        Kind::StringValue(text) => Some(text),
        _ => None,
    };
    let user_id = text("sub").unwrap_or_default();
    Ok(Some(Identity { user_id, name: text("name"), email: text("email"), by: "jwt" }))
}

/// Asks for the session in the database that the cookie names, and for its user.
async fn by_session(authwire: &Authwire, headers: &HeaderMap, cookie: &str) -> Result<Option<Identity>, Status> {
    let Some(session_token) = cookie_value(headers, cookie) else { return Ok(None) };
    let request = call(GetSessionAndUserRequest { session_token });
    match authwire.sessions.clone().get_session_and_user(request).await {
        Ok(answer) => {
            let user = answer.into_inner().user.unwrap_or_default();
            Ok(Some(Identity { user_id: user.id, name: user.name, email: user.email, by: "session" }))
        }
        Err(status) => match reason(&status).as_str() {
            "SESSION_NOT_FOUND" | "INVALID_FIELD" => Ok(None), // no session has such a token, or can have
            _ => Err(status),
        },
    }
}

/// The value of a cookie, `None` if there is none or it is empty.
fn cookie_value(headers: &HeaderMap, cookie: &str) -> Option<String> {
    for line in headers.get_all("cookie") {
        for pair in String::from_utf8_lossy(line.as_bytes()).split(';') {
            match pair.trim().split_once('=') {
                Some((name, value)) if name == cookie && !value.is_empty() => {
                    return Some(percent_decode_str(value).decode_utf8_lossy().into_owned());
                }
                _ => {}
            }
        }
    }
    None
}
