//! API keys: bound to an actor with scopes and workspaces, stored as hashes, compared in constant time.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use harn_core::hash::Sha256Hash;
use harn_core::{Actor, Code, Error, KeyId, Result, Scope, Timestamp, WorkspaceAccess};
use harn_log::DocQuery;
use harn_wire::agents::{ApiKey, CreateKeyRequest, KeyTag};
use serde::{Deserialize, Serialize};
use serde_json::json;
use subtle::ConstantTimeEq;

use crate::tx::{Tx, get, kind};
use crate::{Call, Harness};

/// A key as the log knows it. The secret is only ever seen by the one who gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredKey {
    pub id: KeyId,
    pub hash: String,
    pub actor: Actor,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

impl StoredKey {
    /// What a key is found by: too little of its hash to be of use to anyone.
    pub(crate) fn lookup(&self) -> String {
        lookup(&self.hash)
    }
}

fn lookup(hash: &str) -> String {
    hash.chars().take(16).collect()
}

/// A secret that grants what its key grants. Never logged: it has no `Debug`.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn generate() -> Self {
        Self(format!("harn_{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())))
    }

    pub fn given(text: &str) -> Result<Self> {
        if text.len() < 8 || text.len() > 512 || !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(Error::invalid(
                "api_key",
                "An API key must have 8 to 512 printable ASCII characters and no spaces.",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn hash(&self) -> String {
        Sha256Hash::of(self.0.as_bytes()).to_string()
    }
}

fn shown(key: StoredKey) -> ApiKey {
    ApiKey {
        id: key.id.to_string(),
        object: KeyTag::Tag,
        actor: key.actor.id,
        scopes: key.actor.scopes.into_iter().map(|scope| scope.0).collect(),
        workspace_ids: match key.actor.workspaces {
            WorkspaceAccess::All => None,
            WorkspaceAccess::Only(ids) => Some(ids.iter().map(ToString::to_string).collect()),
        },
        created_at: key.created_at,
        revoked_at: key.revoked_at,
        secret: None,
    }
}

impl Harness {
    /// Binds a secret to an actor. Giving the same secret again replaces its binding.
    pub async fn create_key(
        &self,
        secret: &Secret,
        actor: &str,
        scopes: BTreeSet<Scope>,
        workspaces: WorkspaceAccess,
    ) -> Result<StoredKey> {
        let (hash, actor) = (secret.hash(), actor.to_owned());
        self.command(&Call::harness(), move |tx: &mut Tx<'_>| {
            let actor = Actor { id: actor, scopes, workspaces };
            let existing: Option<StoredKey> = tx.get(kind::KEY, &lookup(&hash))?;
            if let Some(same) = existing.filter(|key| key.actor == actor && key.revoked_at.is_none()) {
                return Ok(same);
            }
            let key = StoredKey { id: KeyId::generate(), hash, actor, created_at: tx.now, revoked_at: None };
            tx.fact("key.created", &key)?;
            Ok(key)
        })
        .await
    }

    pub async fn revoke_key(&self, actor: &Actor, id: KeyId) -> Result<()> {
        actor.require("keys:write")?;
        self.command(&Call::harness(), move |tx: &mut Tx<'_>| {
            let keys: Vec<StoredKey> = tx.find(&DocQuery::of(kind::KEY))?;
            if !keys.iter().any(|key| key.id == id) {
                return Err(Error::not_found("API key", &id));
            }
            tx.fact("key.revoked", &json!({ "id": id }))?;
            Ok(())
        })
        .await
    }

    /// Makes a key for somebody. The answer is the only time that its secret is shown.
    pub async fn make_key(&self, call: &Call, request: CreateKeyRequest) -> Result<ApiKey> {
        call.actor.require("keys:write")?;
        crate::tx::check_name("actor", &request.actor)?;
        let scopes: BTreeSet<Scope> = match request.scopes.is_empty() {
            true => [Scope("*".into())].into(),
            false => request.scopes.into_iter().map(Scope).collect(),
        };
        // Nobody hands out what they do not have.
        if let Some(missing) = scopes.iter().find(|scope| !call.actor.has(&scope.0)) {
            call.actor.require(&missing.0)?;
        }
        let workspaces = match request.workspace_ids.is_empty() {
            true => call.actor.workspaces.clone(),
            false => WorkspaceAccess::Only(request.workspace_ids.into_iter().map(Into::into).collect()),
        };
        if let WorkspaceAccess::Only(ids) = &workspaces {
            for id in ids {
                let (seer, id) = (call.actor.clone(), id.clone());
                self.glance(move |view| crate::workspaces::visible_workspace(view, &seer, &id).map(|_| ()))?;
            }
        }
        let secret = Secret::generate();
        let key = self.create_key(&secret, &request.actor, scopes, workspaces).await?;
        Ok(ApiKey { secret: Some(secret.reveal().to_owned()), ..shown(key) })
    }

    pub async fn keys(&self, actor: &Actor) -> Result<Vec<ApiKey>> {
        actor.require("keys:read")?;
        self.look(|view| {
            let docs = view.docs(&DocQuery::of(kind::KEY)).map_err(crate::fault)?;
            docs.iter().map(|doc| Ok(shown(doc.parse().map_err(crate::fault)?))).collect()
        })
        .await
    }

    pub async fn has_keys(&self) -> Result<bool> {
        self.look(|view| Ok(view.count(kind::KEY).map_err(crate::fault)? > 0)).await
    }

    /// Who holds this secret. The same words for every reason, so that nothing can be learned from them.
    pub async fn authenticate(&self, bearer: &str) -> Result<Actor> {
        let hash = Sha256Hash::of(bearer.as_bytes()).to_string();
        let found: Option<StoredKey> = self.glance({
            let hash = hash.clone();
            move |view| get(view, kind::KEY, &lookup(&hash))
        })?;
        match found {
            Some(key)
                if key.revoked_at.is_none() && bool::from(key.hash.as_bytes().ct_eq(hash.as_bytes())) =>
            {
                Ok(key.actor)
            }
            _ => Err(Error::new(
                Code::Unauthenticated,
                "The API key is not valid. Send a current one as `Authorization: Bearer <api key>`.",
            )),
        }
    }
}
