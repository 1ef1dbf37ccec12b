//! All checks, one file per category; Core, being the largest, has three.

mod auth;
mod core_errors;
mod core_lists;
mod core_resources;
mod idempotency;
mod lifecycle;
mod outcomes;
mod receipts;
mod replay;
mod streaming;
mod vaults;
mod webhooks;

use crate::check::Check;
use crate::options::Category;

/// Every check, in the order in which they run.
pub fn all() -> impl Iterator<Item = &'static Check> {
    let tables = [
        core_resources::CHECKS,
        core_lists::CHECKS,
        core_errors::CHECKS,
        streaming::CHECKS,
        lifecycle::CHECKS,
        idempotency::CHECKS,
        auth::CHECKS,
        replay::CHECKS,
        receipts::CHECKS,
        vaults::CHECKS,
        outcomes::CHECKS,
        webhooks::CHECKS,
    ];
    tables.into_iter().flatten()
}

pub(crate) fn of(category: Category) -> impl Iterator<Item = &'static Check> {
    all().filter(move |check| check.category == category)
}
