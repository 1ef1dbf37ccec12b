//! A list of the API with all its pages.

use anyhow::Result;
use harn_client::{Client, Method};
use harn_wire::agents::Page;
use serde::de::DeserializeOwned;

/// Pages of 200 that are read; a server that always has one more is not followed for ever.
const MAX_PAGES: usize = 500;

pub async fn all_pages<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    filters: &[(&str, &str)],
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let mut request = client.request(Method::GET, path).query(&[("limit", "200")]).query(filters);
        if let Some(cursor) = &cursor {
            request = request.query(&[("cursor", cursor)]);
        }
        let page: Page<T> = request.send().await?.ok()?.json()?;
        all.extend(page.data);
        cursor = page.page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(all)
}
