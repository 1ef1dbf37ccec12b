//! Signatures, agreed keys and signed addresses.

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use hmac::Hmac;
use sha2::Sha256;
use x25519_dalek::{PublicKey, StaticSecret};

use super::Cx;
use super::args::{self, at};
use super::encoding::{is_same, mac, percent};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

/// 32 bytes, given as such, in hexadecimal digits, as base64, or in a PEM file.
pub fn key_of(cx: &mut Cx<'_>, args: &[Value], index: usize, name: &str) -> Result<[u8; 32], Fault> {
    let given = args::octets(cx, args, index)?;
    let text = || std::str::from_utf8(&given).unwrap_or_default().trim();
    let pem = |text: &str| {
        let der = der_of(text)?;
        // The key is what both usual forms end with.
        der.get(der.len().checked_sub(32)?..).map(<[u8]>::to_vec)
    };
    let bytes = match text() {
        _ if given.len() == 32 => Some(given.to_vec()),
        text if text.starts_with("-----BEGIN") => pem(text),
        text => HEXLOWER_PERMISSIVE
            .decode(text.as_bytes())
            .or_else(|_| BASE64.decode(text.as_bytes()))
            .or_else(|_| BASE64URL_NOPAD.decode(text.as_bytes()))
            .ok(),
    };
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
        Fault::thrown(format!("{name}: a key is 32 bytes, in hexadecimal digits, base64 or PEM"))
    })
}

/// What is between the two lines of a PEM file.
pub fn der_of(pem: &str) -> Option<Vec<u8>> {
    let body: String = pem.lines().map(str::trim).filter(|line| !line.starts_with("-----")).collect();
    BASE64.decode(body.as_bytes()).ok()
}

pub fn ed25519_sign(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let key = SigningKey::from_bytes(&key_of(cx, args, 0, "ed25519_sign")?);
    let message = args::octets(cx, args, 1)?;
    cx.work(message.len());
    Ok(HEXLOWER.encode(&key.sign(&message).to_bytes()).into())
}

pub fn ed25519_verify(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let key = key_of(cx, args, 0, "ed25519_verify")?;
    let message = args::octets(cx, args, 1)?;
    let signature = match at(args, 2) {
        Value::Bytes(bytes) => Some(bytes.to_vec()),
        _ => HEXLOWER_PERMISSIVE.decode(args::text(cx, args, 2)?.as_bytes()).ok(),
    };
    cx.work(message.len());
    Ok(signature.is_some_and(|signature| is_signed(&key, &message, &signature)).into())
}

/// The key that signatures of this one are verified with.
pub fn ed25519_public(secret: &[u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(secret).verifying_key().to_bytes()
}

/// The key to give to the other side.
pub fn x25519_public(secret: &[u8; 32]) -> [u8; 32] {
    PublicKey::from(&StaticSecret::from(*secret)).to_bytes()
}

pub fn is_signed(key: &[u8; 32], message: &[u8], signature: &[u8]) -> bool {
    let (Ok(key), Ok(signature)) = (VerifyingKey::from_bytes(key), Signature::from_slice(signature)) else {
        return false;
    };
    key.verify_strict(message, &signature).is_ok()
}

pub fn x25519_agree(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let secret = StaticSecret::from(key_of(cx, args, 0, "x25519_agree")?);
    let peer = PublicKey::from(key_of(cx, args, 1, "x25519_agree")?);
    let shared = secret.diffie_hellman(&peer);
    if !shared.was_contributory() {
        return Err(Fault::thrown("x25519_agree: the key of the other side is of no use"));
    }
    Ok(HEXLOWER.encode(shared.as_bytes()).into())
}

/// The query parameters that a signed address has besides its claims.
const EXPIRES: &str = "exp";
const KEY_ID: &str = "kid";
const SIGNATURE: &str = "sig";

pub fn signed_url(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let base = args::text(cx, args, 0)?.into_owned();
    let none = Dict::new();
    let claims = args::dict(args, 1).unwrap_or(&none);
    let secret = args::secret(args, 2, "signed_url")?;
    let expires = moment(args, 3, "signed_url: expires_at")?;
    let mut pairs = Vec::new();
    for (name, value) in claims.iter() {
        pairs.push((name.as_str().to_owned(), args::print(cx, value)?.into_owned()));
    }
    let key_id = args::dict(args, 4).and_then(|options| options.get("kid").or_else(|| options.get("key_id")));
    if let Some(Value::Str(id)) = key_id {
        pairs.push((KEY_ID.to_owned(), id.as_str().to_owned()));
    }
    pairs.push((EXPIRES.to_owned(), expires.to_string()));
    let query = encoded(&pairs);
    cx.charge(base.len() + query.len().saturating_mul(2) + 128)?;
    // What follows a '#' is not sent, so that it is no part of what is signed.
    let (base, fragment) = base.split_at(base.find('#').unwrap_or(base.len()));
    let joint = if base.contains('?') { '&' } else { '?' };
    let address = format!("{base}{joint}{query}");
    let signature = HEXLOWER.encode(&mac::<Hmac<Sha256>>(secret, address.as_bytes())?);
    Ok(format!("{address}&{SIGNATURE}={signature}{fragment}").into())
}

fn moment(args: &[Value], index: usize, what: &str) -> Result<i64, Fault> {
    args::int(args, index)
        .ok_or_else(|| Fault::thrown(format!("{what} must be a number, got {}", at(args, index).type_name())))
}

fn encoded(pairs: &[(String, String)]) -> String {
    let pair = |(name, value): &(String, String)| {
        format!("{}={}", percent(name.as_bytes()), percent(value.as_bytes()))
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

pub fn verify_signed_url(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let address = args::text(cx, args, 0)?;
    cx.charge(address.len().saturating_mul(4))?;
    let now = moment(args, 2, "verify_signed_url: now")?;
    let refused = |reason: &str| {
        Value::record([("valid", false.into()), ("reason", reason.into()), ("claims", Value::Nil)])
    };
    let marker = format!("&{SIGNATURE}=");
    let sent = address.split_once('#').map_or(&*address, |(sent, _)| sent);
    let Some((signed, signature)) = sent.rsplit_once(&marker) else {
        return Ok(refused("missing_signature"));
    };
    let query = signed.split_once('?').map_or("", |(_, query)| query);
    let mut claims = Dict::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        claims.insert(args::key(&name), value.into_owned().into());
    }
    let expires = claims.remove(EXPIRES).and_then(|value| value.as_str()?.parse::<i64>().ok());
    let key_id = claims.remove(KEY_ID);
    let secret = match (args::dict(args, 1), &key_id) {
        (None, _) => Some(args::secret(args, 1, "verify_signed_url")?),
        (Some(keys), Some(Value::Str(id))) => match keys.get(id.as_str()) {
            Some(key) => Some(args::secret(std::slice::from_ref(key), 0, "verify_signed_url")?),
            None => None,
        },
        _ => None,
    };
    let Some(secret) = secret else { return Ok(refused("unknown_key")) };
    let expected = HEXLOWER.encode(&mac::<Hmac<Sha256>>(secret, signed.as_bytes())?);
    if !is_same(expected.as_bytes(), signature.as_bytes()) {
        return Ok(refused("bad_signature"));
    }
    match expires {
        Some(expires) if now <= expires => Ok(Value::record([
            ("valid", true.into()),
            ("reason", Value::Nil),
            ("claims", Value::dict(claims)),
            ("expires_at", Value::Int(expires)),
            ("kid", key_id.unwrap_or_default()),
        ])),
        _ => Ok(refused("expired")),
    }
}
