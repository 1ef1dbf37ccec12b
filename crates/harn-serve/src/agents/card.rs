//! The agent card of this server: what is served is claimed, and nothing else.

use std::collections::BTreeMap;

use harn_core::{Metadata, PROTOCOL_VERSION};
use harn_wire::agents::{
    A2aCapabilities, A2aCard, A2aInterface, A2aProvider, A2aSecurityScheme, A2aSkill, A2aTransport,
    AgentCard, AgentCardTag, AgentInterface, Skill, Transport,
};
use serde_json::json;

use super::discovery::CAPABILITIES;
use crate::edge::{Edge, VERSION};

const ABOUT: &str =
    "Runs agent tasks durably: sessions, tools, approvals, artifacts and an ordered event log.";
const A2A_NOTE: &str = "Its A2A transport is not served yet; use REST and server-sent events below /v1.";
const A2A_VERSION: &str = "0.3.0";
const JSON_RPC: &str = "JSONRPC";

pub fn card(edge: &Edge) -> AgentCard {
    let (since, skill) = (edge.harness.started_at(), edge.harness.own_skill());
    let url = edge.options.public_url.trim_end_matches('/');
    let interface = |transport, path: &str| AgentInterface { transport, url: format!("{url}{path}") };
    let interfaces = vec![interface(Transport::Rest, "/v1"), interface(Transport::Sse, "/v1/events/stream")];
    AgentCard {
        // There is one card per server, so its id needs no number.
        id: "agent_card_harn".into(),
        object: AgentCardTag::Tag,
        created_at: since,
        updated_at: since,
        metadata: object(json!({ "a2a": A2A_NOTE })),
        name: "Harn".into(),
        description: ABOUT.into(),
        protocol_version: PROTOCOL_VERSION.into(),
        a2a_card: a2a_card(url, &skill),
        skills: vec![skill],
        harn_interfaces: interfaces.clone(),
        interfaces,
        persona_ids: Vec::new(),
        capabilities: CAPABILITIES.iter().map(|(id, _)| (*id).to_owned()).collect(),
        auth_schemes: vec!["bearer".into()],
        receipt_policy: None,
        quotas: Vec::new(),
        provider: object(json!({ "organization": "Harn", "url": url })),
        public_url: Some(url.to_owned()),
        signature: None,
    }
}

fn a2a_card(url: &str, skill: &Skill) -> A2aCard {
    let endpoint = format!("{url}/a2a");
    let bearer = A2aSecurityScheme {
        kind: "http".into(),
        scheme: "bearer".into(),
        description: "An API key of this harness.".into(),
    };
    A2aCard {
        protocol_version: A2A_VERSION.into(),
        name: "Harn".into(),
        description: format!("{ABOUT} {A2A_NOTE}"),
        url: endpoint.clone(),
        preferred_transport: JSON_RPC.into(),
        additional_interfaces: vec![A2aTransport { url: endpoint.clone(), transport: JSON_RPC.into() }],
        supported_interfaces: vec![A2aInterface {
            url: endpoint,
            protocol_binding: JSON_RPC.into(),
            protocol_version: A2A_VERSION.into(),
            tenant: None,
        }],
        provider: A2aProvider { organization: "Harn".into(), url: url.to_owned() },
        version: VERSION.into(),
        documentation_url: None,
        capabilities: A2aCapabilities { streaming: true, ..A2aCapabilities::default() },
        security_schemes: BTreeMap::from([("bearer".to_owned(), bearer)]),
        security: vec![BTreeMap::from([("bearer".to_owned(), Vec::new())])],
        default_input_modes: modes(),
        default_output_modes: modes(),
        skills: vec![a2a_skill(skill)],
        signatures: Vec::new(),
        icon_url: None,
    }
}

fn a2a_skill(skill: &Skill) -> A2aSkill {
    A2aSkill {
        id: skill.name.clone(),
        name: "Run a task".into(),
        description: skill.description.clone(),
        tags: vec!["agent".into(), "tools".into(), "workspace".into()],
        examples: vec!["Find out why the tests fail, and fix it.".into()],
        input_modes: modes(),
        output_modes: modes(),
        security: Vec::new(),
        input_schema: None,
    }
}

fn modes() -> Vec<String> {
    vec!["text/plain".into(), "application/json".into()]
}

fn object(value: serde_json::Value) -> Metadata {
    match value {
        serde_json::Value::Object(fields) => fields,
        _ => Metadata::new(),
    }
}
