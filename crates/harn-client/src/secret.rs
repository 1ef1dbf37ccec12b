//! An API key that can be sent and searched for, but not printed.

use std::fmt;
use std::sync::Arc;

use hyper::header::HeaderValue;

use crate::ClientError;

const HIDDEN: &str = "[key]";

#[derive(Clone)]
pub(crate) struct Secret {
    key: Arc<str>,
    bearer: HeaderValue,
}

impl Secret {
    pub(crate) fn new(key: &str) -> Result<Secret, ClientError> {
        let bearer = HeaderValue::from_str(&format!("Bearer {key}"));
        let (Ok(mut bearer), false) = (bearer, key.trim().is_empty()) else {
            return Err(ClientError::Invalid(
                "the API key is empty or has characters that no header can carry; \
                 copy it again, without line breaks"
                    .into(),
            ));
        };
        bearer.set_sensitive(true);
        Ok(Secret { key: key.into(), bearer })
    }

    pub(crate) fn bearer(&self) -> HeaderValue {
        self.bearer.clone()
    }

    /// A server may echo the key; what we print of its words must not.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        text.replace(&*self.key, HIDDEN)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}
