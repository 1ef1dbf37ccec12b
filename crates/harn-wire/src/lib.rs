//! Wire types that we define ourselves: the request bodies, envelopes and events of the agents protocol. No I/O.

pub mod agents;
