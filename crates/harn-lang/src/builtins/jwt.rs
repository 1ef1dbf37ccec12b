//! JSON web tokens with a shared secret (HS256, HS384, HS512) or with a pair of keys (EdDSA, RS256, ES256).
//!
//! The same claims and key always give the same token: Ed25519 and RSA signatures of this kind have no chance in them, and
//! the one for ES256 is made as RFC 6979 says.

use data_encoding::BASE64URL_NOPAD;
use ed25519_dalek::SigningKey;
use hmac::Hmac;
use p256::ecdsa::signature::{Signer, Verifier};
use p256::pkcs8::{DecodePrivateKey, DecodePublicKey, SubjectPublicKeyInfoRef};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey};
use sha2::{Sha256, Sha384, Sha512};

use super::args::{self, at};
use super::encoding::{is_same, mac};
use super::signing::{der_of, is_signed, key_of};
use super::{Cx, json};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

const ALGORITHMS: &str = "HS256, HS384, HS512, EdDSA, RS256 or ES256";
/// What a signature with a pair of keys costs, as bytes read.
const WORK: usize = 1 << 18;

pub fn jwt_sign(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let algorithm = args::text(cx, args, 0)?.into_owned();
    args::dict_of(args, 1, "jwt_sign", "claims")?;
    let header = format!(r#"{{"alg":"{algorithm}","typ":"JWT"}}"#);
    let claims = json::write::compact(cx, at(args, 1))?;
    cx.charge(claims.len().saturating_mul(2))?;
    let signed = format!(
        "{}.{}",
        BASE64URL_NOPAD.encode(header.as_bytes()),
        BASE64URL_NOPAD.encode(claims.as_bytes())
    );
    let signature = signature(cx, args, &algorithm, signed.as_bytes())?;
    Ok(format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature)).into())
}

fn signature(cx: &mut Cx<'_>, args: &[Value], algorithm: &str, message: &[u8]) -> Result<Vec<u8>, Fault> {
    cx.work(message.len().saturating_add(WORK));
    if algorithm == "EdDSA" {
        let key = SigningKey::from_bytes(&key_of(cx, args, 2, "jwt_sign")?);
        return Ok(ed25519_dalek::Signer::sign(&key, message).to_bytes().to_vec());
    }
    let key = args::octets(cx, args, 2)?;
    let unusable = || Fault::thrown(format!("jwt_sign: {algorithm} needs a private key in PEM"));
    match algorithm {
        "RS256" => {
            let pair = rsa_pair(&key).ok_or_else(unusable)?;
            let mut signature = vec![0; pair.public().modulus_len()];
            let blinding = ring::rand::SystemRandom::new();
            pair.sign(&RSA_PKCS1_SHA256, &blinding, message, &mut signature).map_err(|_| unusable())?;
            Ok(signature)
        }
        "ES256" => {
            let secret = elliptic_secret(&key).ok_or_else(unusable)?;
            let signature: p256::ecdsa::Signature = p256::ecdsa::SigningKey::from(secret).sign(message);
            Ok(signature.to_bytes().to_vec())
        }
        _ => keyed(algorithm, args, message, "jwt_sign"),
    }
}

fn text_of(key: &[u8]) -> &str {
    std::str::from_utf8(key).unwrap_or_default().trim()
}

fn rsa_pair(pem: &[u8]) -> Option<RsaKeyPair> {
    let der = der_of(text_of(pem))?;
    RsaKeyPair::from_pkcs8(&der).or_else(|_| RsaKeyPair::from_der(&der)).ok()
}

fn elliptic_secret(pem: &[u8]) -> Option<p256::SecretKey> {
    let pem = text_of(pem);
    p256::SecretKey::from_pkcs8_pem(pem).ok().or_else(|| p256::SecretKey::from_sec1_pem(pem).ok())
}

fn keyed(algorithm: &str, args: &[Value], message: &[u8], name: &str) -> Result<Vec<u8>, Fault> {
    let key = || args::secret(args, 2, name);
    match algorithm {
        "HS256" => mac::<Hmac<Sha256>>(key()?, message),
        "HS384" => mac::<Hmac<Sha384>>(key()?, message),
        "HS512" => mac::<Hmac<Sha512>>(key()?, message),
        other => Err(Fault::thrown(format!("{name}: unknown algorithm '{other}', expected {ALGORITHMS}"))),
    }
}

/// The claims of a token whose signature holds. Only the given algorithm counts: what the token says of itself must be
/// the same.
pub fn jwt_claims(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let algorithm = args::text(cx, args, 0)?.into_owned();
    let token = args::text(cx, args, 1)?.into_owned();
    cx.charge(token.len())?;
    cx.work(token.len());
    let broken = || Fault::thrown("jwt_verify: this is no JSON web token");
    let (signed, signature) = token.rsplit_once('.').ok_or_else(broken)?;
    let (header, claims) = signed.split_once('.').ok_or_else(broken)?;
    let plain = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).ok();
    let header = plain(header).and_then(|text| String::from_utf8(text).ok()).ok_or_else(broken)?;
    let header = json::read::json(cx, &header)?.map_err(|_| broken())?;
    let stated = args::fields(&header).and_then(|header| header.get("alg")).and_then(Value::as_str);
    if stated != Some(&*algorithm) {
        let stated = stated.unwrap_or("none");
        let message = format!("jwt_verify: the token is signed with {stated}, expected {algorithm}");
        return Err(Fault::thrown(message));
    }
    let signature = plain(signature).ok_or_else(broken)?;
    if !holds(cx, args, &algorithm, signed.as_bytes(), &signature)? {
        return Err(Fault::thrown("jwt_verify: the signature does not hold"));
    }
    let claims = plain(claims).and_then(|text| String::from_utf8(text).ok()).ok_or_else(broken)?;
    let claims = json::read::json(cx, &claims)?.map_err(|_| broken())?;
    if claims.as_dict().is_some() { Ok(claims) } else { Err(broken()) }
}

fn holds(
    cx: &mut Cx<'_>,
    args: &[Value],
    algorithm: &str,
    message: &[u8],
    signature: &[u8],
) -> Result<bool, Fault> {
    cx.work(message.len().saturating_add(WORK));
    if algorithm == "EdDSA" {
        return Ok(is_signed(&key_of(cx, args, 2, "jwt_verify")?, message, signature));
    }
    let key = args::octets(cx, args, 2)?;
    let unusable = || Fault::thrown(format!("jwt_verify: {algorithm} needs a public key in PEM"));
    match algorithm {
        "RS256" => {
            let key = rsa_public(&key).ok_or_else(unusable)?;
            Ok(UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key).verify(message, signature).is_ok())
        }
        "ES256" => {
            let key = elliptic_public(&key).ok_or_else(unusable)?;
            let signature = p256::ecdsa::Signature::from_slice(signature);
            Ok(signature.is_ok_and(|signature| key.verify(message, &signature).is_ok()))
        }
        _ => Ok(is_same(&keyed(algorithm, args, message, "jwt_verify")?, signature)),
    }
}

/// The public key as RSA itself writes it, out of what programs keep: with or without a frame, or the private key.
fn rsa_public(pem: &[u8]) -> Option<Vec<u8>> {
    if let Some(pair) = rsa_pair(pem) {
        return Some(pair.public_key().as_ref().to_vec());
    }
    let der = der_of(text_of(pem))?;
    match SubjectPublicKeyInfoRef::try_from(&*der) {
        Ok(framed) => framed.subject_public_key.as_bytes().map(<[u8]>::to_vec),
        Err(_) => Some(der),
    }
}

fn elliptic_public(pem: &[u8]) -> Option<p256::ecdsa::VerifyingKey> {
    let public = p256::PublicKey::from_public_key_pem(text_of(pem)).ok();
    public.or_else(|| elliptic_secret(pem).map(|secret| secret.public_key())).map(Into::into)
}

/// Throws if a token with these claims is not valid at a time in milliseconds.
pub fn jwt_in_time(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let now = args::int_or(args, 1, 0) as f64 / 1000.0;
    let claim = |name: &str| args::dict(args, 0).and_then(|claims| claims.get(name)?.as_number());
    if claim("exp").is_some_and(|end| now >= end) {
        return Err(Fault::thrown("jwt_verify: the token has expired"));
    }
    if claim("nbf").is_some_and(|start| now < start) {
        return Err(Fault::thrown("jwt_verify: the token is not valid yet"));
    }
    Ok(Value::Nil)
}
