//! Skills: what scripts offer to be called, and what is in files for models to load.

use axum::Json;
use axum::extract::State;
use harn_wire::agents::{Page, Skill};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Answer, Routes, Shared};
use crate::intake::{Asked, Caller, Id, PageParams};

pub fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(list_skills)).routes(routes!(get_skill))
}

/// List skills.
#[utoipa::path(get, path = "/v1/skills", tag = "Skills", params(PageParams),
    responses((status = 200, body = Page<Skill>)))]
async fn list_skills(
    State(edge): Shared,
    Caller(actor): Caller,
    Asked(page): Asked<PageParams>,
) -> Answer<Page<Skill>> {
    Ok(Json(edge.harness.skills(&actor, page.wanted()?).await?))
}

/// Read a skill.
#[utoipa::path(get, path = "/v1/skills/{skill_id}", tag = "Skills", responses((status = 200, body = Skill)))]
async fn get_skill(State(edge): Shared, Caller(actor): Caller, Id(id): Id<String>) -> Answer<Skill> {
    Ok(Json(edge.harness.skill(&actor, &id).await?))
}
