//! Which web pages may call us: those of configured origins, or of this machine when none is configured.

use axum::http::{HeaderName, HeaderValue, Method, Uri, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::gate::{REQUEST_ID_HEADER, VERSION_HEADER};

pub fn layer(origins: &[String]) -> CorsLayer {
    let origins = origins.to_vec();
    let allowed = AllowOrigin::predicate(move |origin: &HeaderValue, _| allows(&origins, origin));
    CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::ACCEPT,
            header::RANGE,
            header::IF_RANGE,
            HeaderName::from_static(VERSION_HEADER),
            HeaderName::from_static("idempotency-key"),
            HeaderName::from_static("last-event-id"),
        ])
        .expose_headers([
            HeaderName::from_static(REQUEST_ID_HEADER),
            header::RETRY_AFTER,
            header::CONTENT_RANGE,
            header::ACCEPT_RANGES,
            header::ETAG,
        ])
        .max_age(std::time::Duration::from_secs(3600))
}

fn allows(origins: &[String], origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    if origins.is_empty() { is_loopback(origin) } else { origins.iter().any(|known| known == origin) }
}

fn is_loopback(origin: &str) -> bool {
    let Ok(uri) = origin.parse::<Uri>() else { return false };
    let web = matches!(uri.scheme_str(), Some("http" | "https"));
    web && matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_configuration_only_pages_of_this_machine_are_allowed() {
        for (origin, expected) in [
            ("http://localhost:5173", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:8080", true),
            ("https://example.com", false),
            ("http://localhost.example.com", false),
            ("http://localhost@example.com", false),
            ("null", false),
        ] {
            assert_eq!(allows(&[], &HeaderValue::from_static(origin)), expected, "{origin}");
        }
    }

    #[test]
    fn configured_origins_are_the_only_ones() {
        let origins = ["https://app.example".to_owned()];
        assert!(allows(&origins, &HeaderValue::from_static("https://app.example")));
        assert!(!allows(&origins, &HeaderValue::from_static("http://localhost:5173")));
    }
}
