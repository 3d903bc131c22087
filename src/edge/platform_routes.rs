//! The routes that every command has for the platform: health, and metrics.
//!
//! Invariant: they answer without looking at anything else, so that a slow API server or chat service restarts no pod.

use axum::Router;
use axum::response::IntoResponse as _;
use axum::routing::get;
use http::{HeaderMap, StatusCode, header};

/// The routes; `render` gives the metrics in the form that a scraper accepts, with its content type.
pub(crate) fn platform_routes<S: Clone + Send + Sync + 'static>(
    render: impl Fn(&str) -> (&'static str, String) + Clone + Send + Sync + 'static,
) -> Router<S> {
    let metrics = move |headers: HeaderMap| async move {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (content_type, body) = render(accept);
        ([(header::CONTENT_TYPE, content_type)], body).into_response()
    };
    Router::new()
        .route("/health/liveness", get(StatusCode::OK))
        .route("/health/readiness", get(StatusCode::OK))
        .route("/metrics", get(metrics))
}
