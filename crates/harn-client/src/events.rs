//! An open stream of server-sent events.

use std::collections::VecDeque;

use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::ClientError;
use crate::connect::Connection;
use crate::sse::{FRAME_LIMIT, Frame, Parser};

/// Dropping the stream closes its connection.
pub struct EventStream {
    /// Taken at the end, so that nothing is read after it.
    body: Option<Incoming>,
    _connection: Connection,
    parser: Parser,
    ready: VecDeque<Frame>,
}

impl EventStream {
    pub(crate) fn new(body: Incoming, connection: Connection) -> EventStream {
        EventStream {
            body: Some(body),
            _connection: connection,
            parser: Parser::new(FRAME_LIMIT),
            ready: VecDeque::new(),
        }
    }

    /// The next frame; `None` when the server closed the stream in good order.
    ///
    /// Nothing is lost when the future is dropped before it is done.
    pub async fn next(&mut self) -> Result<Option<Frame>, ClientError> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(Some(frame));
            }
            let Some(body) = &mut self.body else { return Ok(None) };
            let piece = match body.frame().await {
                None => {
                    self.body = None;
                    return Ok(None);
                }
                Some(Err(cause)) => {
                    self.body = None;
                    return Err(ClientError::Protocol(format!(
                        "the stream of events broke off: {cause}; open it again with Last-Event-ID"
                    )));
                }
                Some(Ok(piece)) => piece,
            };
            let Some(bytes) = piece.data_ref() else { continue };
            if self.parser.feed(bytes, &mut self.ready).is_err() {
                self.body = None;
                return Err(ClientError::Protocol(format!(
                    "a frame of the stream is larger than {FRAME_LIMIT} bytes; the stream was closed"
                )));
            }
        }
    }
}
