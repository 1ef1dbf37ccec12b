//! The agent card: ours, and the A2A card inside it.

use std::collections::BTreeMap;

use harn_core::Timestamp;
use harn_core::resource::Metadata;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::later::{CardSignature, Quota};

harn_core::object_tags! {
    AgentCardTag = "harn_agent_card",
    SkillTag = "skill",
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Rest,
    Sse,
    Websocket,
    A2a,
    Mcp,
    Acp,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = HarnAgentInterface)]
pub struct AgentInterface {
    pub transport: Transport,
    #[schema(format = "uri-reference")]
    pub url: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = HarnAgentCard)]
pub struct AgentCard {
    pub id: String,
    pub object: AgentCardTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub name: String,
    pub description: String,
    pub protocol_version: String,
    pub a2a_card: A2aCard,
    pub skills: Vec<Skill>,
    pub harn_interfaces: Vec<AgentInterface>,
    /// The same list under the name that the conformance client reads.
    pub interfaces: Vec<AgentInterface>,
    pub persona_ids: Vec<String>,
    pub capabilities: Vec<String>,
    pub auth_schemes: Vec<String>,
    pub receipt_policy: Option<String>,
    pub quotas: Vec<Quota>,
    #[schema(value_type = Object)]
    pub provider: Metadata,
    #[schema(format = "uri")]
    pub public_url: Option<String>,
    pub signature: Option<CardSignature>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Skill {
    pub id: String,
    pub object: SkillTag,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(value_type = Object)]
    pub metadata: Metadata,
    pub name: String,
    pub description: String,
    #[schema(value_type = Option<Object>, required)]
    pub input_schema: Option<Metadata>,
    #[schema(value_type = Option<Object>, required)]
    pub output_schema: Option<Metadata>,
    pub source: Option<String>,
    pub version: Option<String>,
    pub capabilities: Vec<String>,
    pub requires_approval: bool,
    pub deprecated: bool,
}

/// An A2A 0.3.0 card, with the interface list that the agents protocol asks for as well.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = A2aAgentCard)]
pub struct A2aCard {
    pub protocol_version: String,
    pub name: String,
    pub description: String,
    #[schema(format = "uri")]
    pub url: String,
    pub preferred_transport: String,
    pub additional_interfaces: Vec<A2aTransport>,
    #[schema(min_items = 1)]
    pub supported_interfaces: Vec<A2aInterface>,
    pub provider: A2aProvider,
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri", nullable = false)]
    pub documentation_url: Option<String>,
    pub capabilities: A2aCapabilities,
    pub security_schemes: BTreeMap<String, A2aSecurityScheme>,
    pub security: Vec<BTreeMap<String, Vec<String>>>,
    pub default_input_modes: Vec<String>,
    pub default_output_modes: Vec<String>,
    pub skills: Vec<A2aSkill>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<A2aCardSignature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri", nullable = false)]
    pub icon_url: Option<String>,
}

/// Where a transport is served, as A2A 0.3.0 has it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = A2aAgentTransport)]
pub struct A2aTransport {
    #[schema(format = "uri")]
    pub url: String,
    pub transport: String,
}

/// The same, as the agents protocol has it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = A2aAgentInterface)]
pub struct A2aInterface {
    #[schema(format = "uri")]
    pub url: String,
    pub protocol_binding: String,
    pub protocol_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tenant: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = A2aAgentProvider)]
pub struct A2aProvider {
    pub organization: String,
    #[schema(format = "uri")]
    pub url: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = A2aAgentCapabilities)]
pub struct A2aCapabilities {
    pub streaming: bool,
    pub push_notifications: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub extensions: Vec<Metadata>,
    pub extended_agent_card: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = A2aSecurityScheme)]
pub struct A2aSecurityScheme {
    #[serde(rename = "type")]
    pub kind: String,
    pub scheme: String,
    pub description: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = A2aAgentSkill)]
pub struct A2aSkill {
    pub id: String,
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<BTreeMap<String, Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    pub input_schema: Option<Metadata>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = A2aAgentCardSignature)]
pub struct A2aCardSignature {
    pub protected: String,
    pub signature: String,
    #[schema(value_type = Object)]
    pub header: Metadata,
}
