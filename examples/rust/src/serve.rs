//! The HTTP server: `GET /me`.

use std::error::Error;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::Authwire;
use crate::signed_in::who_is_signed_in;

/// Serves until SIGTERM or SIGINT, and then finishes the active requests.
pub async fn serve(authwire: Authwire, address: &str, cookie: String) -> Result<(), Box<dyn Error>> {
    let routes = Router::new().route("/me", get(me)).with_state((authwire, cookie));
    let listener = TcpListener::bind(address).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, routes).with_graceful_shutdown(stop).await?;
    Ok(())
}

async fn me(State((authwire, cookie)): State<(Authwire, String)>, headers: HeaderMap) -> Response {
    let (status, body) = match who_is_signed_in(&authwire, &headers, &cookie).await {
        Ok(Some(who)) => (StatusCode::OK, json!(who)),
        Ok(None) => (StatusCode::UNAUTHORIZED, json!({ "error": "nobody is signed in" })),
        Err(status) => {
            eprintln!("cannot tell who is signed in: {:?}: {}", status.code(), status.message());
            (StatusCode::SERVICE_UNAVAILABLE, json!({ "error": "cannot tell who is signed in" }))
        }
    };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}
