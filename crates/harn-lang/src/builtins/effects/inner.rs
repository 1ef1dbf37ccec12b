//! What the prelude asks of the host, and programs do not: the few effects that the builtins in Harn are made of.

use super::super::{Group, effect};

pub static INNER: Group = Group {
    title: "",
    builtins: &[
        effect("__now_ms", "", "int", "The milliseconds since 1970."),
        effect("__monotonic_ms", "", "int", "Milliseconds of a clock that never goes back."),
        effect("__sleep", "ms", "nil", "Waits for so many milliseconds."),
        effect("__llm", "request", "dict", "One call of a model, as it is."),
        effect("__catalog", "question, args", "any", "What is known about providers and models."),
        effect("__tool", "name, args", "dict", "A call of a tool of the harness."),
        effect("__tool_begin", "call", "dict", "A tool of the program is about to be called: policy decides."),
        effect("__tool_end", "call", "nil", "A tool of the program has been called."),
        effect("__emit", "kind, payload", "nil", "Tells whoever watches the run."),
        effect("__ask", "request", "dict", "Asks people and waits for their answer."),
        effect("__skill_files", "roots", "list", "The skills that are in files, by layer."),
        effect("__http", "request", "dict", "One HTTP request."),
        effect("__http_open", "request", "dict", "An HTTP request whose response is read in pieces."),
        effect("__http_read", "stream, max_bytes", "bytes|nil", "The next piece of a response, or nil."),
        effect("__http_close", "stream", "bool", "Stops reading a response."),
        effect("__sse_open", "request", "dict", "Opens a stream of events."),
        effect("__sse_next", "stream, timeout_ms", "dict|nil", "The next event of a stream, or nil."),
        effect("__socket_open", "request", "dict", "Opens a WebSocket."),
        effect("__socket_send", "socket, message", "bool", "Sends a message."),
        effect("__socket_next", "socket, timeout_ms", "dict|nil", "The next message of a socket, or nil."),
        effect("__close", "handle", "bool", "Closes a stream or a socket."),
        effect("__host", "capability, operation, params", "any", "An operation of the host."),
        effect("__host_capabilities", "", "dict", "What the host can do."),
        effect("__host_tools", "", "list", "The tools of the host."),
        effect("__host_tool", "name, args", "any", "A call of a tool of the host."),
        effect("__requests", "filters", "list", "The requests to people that are open."),
        effect("__waitpoint", "operation, args", "dict", "Something with waitpoints."),
        effect("__events", "operation, args", "any", "Something with the event log."),
    ],
};
