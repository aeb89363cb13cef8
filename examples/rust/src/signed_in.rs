//! Finds the signed-in user of a request.

use axum::http::HeaderMap;
use prost_types::value::Kind;
use serde::Serialize;
use tonic::Status;

use crate::authwire::{Header, IntrospectRequest};
use crate::{Authwire, call};

/// The signed-in user and the kind of session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    user_id: String,
    name: Option<String>,
    email: Option<String>,
    by: &'static str,
}

/// Returns the user of a request, or `None` if the request has no valid session. It works for database sessions and JWT
/// sessions. After an error the result is unknown: an outage must never look like a sign-out.
pub async fn who_is_signed_in(
    authwire: &Authwire,
    headers: &HeaderMap,
    cookie: &str,
) -> Result<Option<Identity>, Status> {
    let mut request = IntrospectRequest { cookie_name: Some(cookie.into()), ..Default::default() };
    for name in ["cookie", "authorization"] {
        for value in headers.get_all(name) {
            let value = String::from_utf8_lossy(value.as_bytes()).into();
            request.headers.push(Header { name: name.into(), value });
        }
    }
    let answer = authwire.introspection.clone().introspect(call(request)).await?.into_inner();
    if !answer.active {
        return Ok(None);
    }
    if let Some(user) = answer.user {
        return Ok(Some(Identity { user_id: user.id, name: user.name, email: user.email, by: "session" }));
    }
    let mut claims = answer.claims.unwrap_or_default();
    let mut text = |name: &str| match claims.fields.remove(name)?.kind? {
        Kind::StringValue(text) => Some(text),
        _ => None,
    };
    Ok(Some(Identity { user_id: answer.sub, name: text("name"), email: text("email"), by: "jwt" }))
}
