//! Landlock: which files may be read and written, and that nothing outside can be signalled.

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::paths::Lists;
use crate::guard::Network;

/// The newest set of rules that we know. An older kernel applies those of them that it has.
const NEWEST: ABI = ABI::V9;

/// Restricts this process for good. An error says what the kernel does not do.
pub(crate) fn restrict_files(lists: &Lists, network: Network) -> Result<(), String> {
    match apply(lists, network) {
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => Ok(()),
        Ok(RulesetStatus::NotEnforced) => {
            Err("this kernel has no Landlock, or it is switched off".to_owned())
        }
        Err(error) => Err(format!("Landlock failed: {error}")),
    }
}

fn apply(lists: &Lists, network: Network) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::from_read(NEWEST);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if network == Network::Closed {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let status = ruleset
        .create()?
        .add_rules(path_beneath_rules(&lists.read, read))?
        .add_rules(path_beneath_rules(&lists.list, AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(&lists.devices, on_devices()))?
        .add_rules(path_beneath_rules(&lists.write, in_workspace()))?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// A device file that a command of root makes would open the disk behind all these rules.
fn in_workspace() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

fn on_devices() -> BitFlags<AccessFs> {
    in_workspace() & !AccessFs::Execute
}
