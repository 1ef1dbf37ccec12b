//! Text encodings, hashes and signatures.

use data_encoding::{BASE32, BASE64, BASE64URL_NOPAD, Encoding, HEXLOWER, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_256};
use subtle::ConstantTimeEq;

use super::args::{self, at};
use super::{Cx, Group, effect, jwt, prelude, pure, signing};
use crate::fault::Fault;
use crate::value::{Set, Value};

type Answer = Result<Value, Fault>;

pub static ENCODING: Group = Group {
    title: "Encoding, hashing, signing",
    builtins: &[
        pure(
            "base32_decode",
            "string",
            "any",
            "What a base32 text says: text if it is UTF-8, else bytes.",
            base32_decode,
        ),
        pure("base32_encode", "string", "string", "A text or bytes as base32.", base32_encode),
        pure(
            "base64_decode",
            "string",
            "any",
            "What a base64 text says: text if it is UTF-8, else bytes.",
            base64_decode,
        ),
        pure("base64_encode", "string", "string", "A text or bytes as base64.", base64_encode),
        pure(
            "base64url_decode",
            "string",
            "any",
            "What a base64url text says: text if it is UTF-8, else bytes.",
            base64url_decode,
        ),
        pure(
            "base64url_encode",
            "string",
            "string",
            "A text or bytes as base64 for addresses, without padding.",
            base64url_encode,
        ),
        pure("blake3", "bytes_or_string", "string", "The BLAKE3 hash in hexadecimal digits.", blake3_hash),
        pure(
            "constant_time_eq",
            "a, b",
            "bool",
            "Whether two texts are equal, in a time that does not tell where they differ.",
            constant_time_eq,
        ),
        effect("ed25519_keypair", "", "dict", "A new pair of keys to sign with, in hexadecimal digits."),
        pure(
            "ed25519_sign",
            "priv, msg",
            "string",
            "The signature of a message in hexadecimal digits.",
            signing::ed25519_sign,
        ),
        pure(
            "ed25519_verify",
            "pub, msg, sig",
            "bool",
            "Whether a signature is that of a message.",
            signing::ed25519_verify,
        ),
        pure("hash_value", "value", "int", "A number that is the same for equal values.", hash_value),
        pure(
            "hex_decode",
            "string",
            "any",
            "What hexadecimal digits say: text if it is UTF-8, else bytes.",
            hex_decode,
        ),
        pure("hex_encode", "string", "string", "A text or bytes in hexadecimal digits.", hex_encode),
        pure(
            "hmac_sha256",
            "key, message",
            "string",
            "The HMAC-SHA-256 of a message in hexadecimal digits.",
            hmac_sha256,
        ),
        pure(
            "hmac_sha256_base64",
            "key, message",
            "string",
            "The HMAC-SHA-256 of a message as base64.",
            hmac_sha256_base64,
        ),
        pure(
            "jwt_sign",
            "alg, claims, private_key",
            "string",
            "A JSON web token with HS256, HS384, HS512, EdDSA, RS256 or ES256.",
            jwt::jwt_sign,
        ),
        prelude(
            "jwt_verify",
            "alg, token, key",
            "dict",
            "The claims of a JSON web token whose signature holds and that is valid now; throws otherwise.",
        ),
        pure(
            "md5",
            "string",
            "string",
            "The MD5 hash in hexadecimal digits; not for anything that must be safe.",
            md5_hash,
        ),
        pure("sha224", "s", "string", "The SHA-224 hash in hexadecimal digits.", sha224),
        pure("sha256", "string", "string", "The SHA-256 hash in hexadecimal digits.", sha256),
        pure("sha384", "s", "string", "The SHA-384 hash in hexadecimal digits.", sha384),
        pure("sha3_256", "s", "string", "The SHA3-256 hash in hexadecimal digits.", sha3_256),
        pure("sha3_512", "s", "string", "The SHA3-512 hash in hexadecimal digits.", sha3_512),
        pure("sha512", "s", "string", "The SHA-512 hash in hexadecimal digits.", sha512),
        pure("sha512_256", "s", "string", "The SHA-512/256 hash in hexadecimal digits.", sha512_256),
        pure(
            "signed_url",
            "base, claims, secret, expires_at, options?",
            "string",
            "An address with claims, an end of validity and a signature in its query.",
            signing::signed_url,
        ),
        pure(
            "url_decode",
            "string",
            "any",
            "A text with `%41` and the like turned into characters.",
            url_decode,
        ),
        pure(
            "url_encode",
            "string",
            "string",
            "A text with all but letters, digits and `-_.~` as `%41` and the like.",
            url_encode,
        ),
        pure(
            "verify_signed_url",
            "url, secret_or_keys, now, options?",
            "dict",
            "Whether the signature of an address holds and is still valid: `valid`, `claims`, `reason`.",
            signing::verify_signed_url,
        ),
        pure(
            "x25519_agree",
            "priv, peer_pub",
            "string",
            "The secret that two pairs of keys share, in hexadecimal digits.",
            signing::x25519_agree,
        ),
        effect(
            "x25519_keypair",
            "",
            "dict",
            "A new pair of keys to agree on a secret with, in hexadecimal digits.",
        ),
    ],
};

fn encode(cx: &mut Cx<'_>, args: &[Value], encoding: &Encoding) -> Answer {
    let bytes = args::octets(cx, args, 0)?;
    cx.charge(bytes.len().saturating_mul(2))?;
    cx.work(bytes.len());
    Ok(encoding.encode(&bytes).into())
}

fn decode(cx: &mut Cx<'_>, args: &[Value], encoding: &Encoding, name: &str) -> Answer {
    let text = args::text(cx, args, 0)?;
    cx.charge(text.len())?;
    cx.work(text.len());
    let bytes = encoding.decode(text.trim().as_bytes());
    bytes.map(text_or_bytes).map_err(|error| Fault::thrown(format!("{name}: {error}")))
}

pub fn text_or_bytes(bytes: Vec<u8>) -> Value {
    String::from_utf8(bytes).map_or_else(|error| args::bytes(error.into_bytes()), Value::from)
}

macro_rules! encodings {
    ($($encode:ident $decode:ident $encoding:expr;)*) => {
        $(fn $encode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
            encode(cx, args, &$encoding)
        }

        fn $decode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
            decode(cx, args, &$encoding, stringify!($decode))
        })*
    };
}

encodings! {
    base32_encode base32_decode BASE32;
    base64_encode base64_decode BASE64;
}

fn hex_encode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    encode(cx, args, &HEXLOWER)
}

fn hex_decode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    decode(cx, args, &HEXLOWER_PERMISSIVE, "hex_decode")
}

fn base64url_encode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    encode(cx, args, &BASE64URL_NOPAD)
}

/// With or without padding.
fn base64url_decode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?.trim_end_matches('=').to_owned();
    decode(cx, &[text.into()], &BASE64URL_NOPAD, "base64url_decode")
}

fn url_encode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::octets(cx, args, 0)?;
    cx.charge(text.len().saturating_mul(3))?;
    Ok(percent(&text).into())
}

pub fn percent(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn url_decode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    cx.charge(text.len())?;
    Ok(text_or_bytes(unpercent(text.as_bytes())))
}

pub fn unpercent(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let digits = text.get(at + 1..at + 3).and_then(|digits| HEXLOWER_PERMISSIVE.decode(digits).ok());
        match (byte, digits) {
            (b'%', Some(decoded)) => {
                out.extend(decoded);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}

fn hashed<D: Digest>(cx: &mut Cx<'_>, args: &[Value]) -> Answer {
    let bytes = args::octets(cx, args, 0)?;
    cx.work(bytes.len());
    Ok(HEXLOWER.encode(&D::digest(&*bytes)).into())
}

macro_rules! hashes {
    ($($name:ident $digest:ty;)*) => {
        $(fn $name(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
            hashed::<$digest>(cx, args)
        })*
    };
}

hashes! {
    md5_hash md5::Md5;
    sha224 Sha224;
    sha256 Sha256;
    sha384 Sha384;
    sha512 Sha512;
    sha512_256 Sha512_256;
    sha3_256 sha3::Sha3_256;
    sha3_512 sha3::Sha3_512;
}

fn blake3_hash(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = args::octets(cx, args, 0)?;
    cx.work(bytes.len());
    Ok(blake3::hash(&bytes).to_hex().to_string().into())
}

/// The code of a message under a key of any length.
pub fn mac<M: Mac + KeyInit>(key: &[u8], message: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut mac =
        <M as KeyInit>::new_from_slice(key).map_err(|_| Fault::thrown("hmac: this key cannot be used"))?;
    mac.update(message);
    Ok(mac.finalize().into_bytes().to_vec())
}

fn hmac_of(cx: &mut Cx<'_>, args: &[Value], name: &str) -> Result<Vec<u8>, Fault> {
    let (key, message) = (args::key_bytes(args, 0, name)?, args::octets(cx, args, 1)?);
    cx.work(message.len());
    mac::<Hmac<Sha256>>(key, &message)
}

fn hmac_sha256(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(HEXLOWER.encode(&hmac_of(cx, args, "hmac_sha256")?).into())
}

fn hmac_sha256_base64(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(BASE64.encode(&hmac_of(cx, args, "hmac_sha256_base64")?).into())
}

fn constant_time_eq(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let second = args::octets(cx, args, 1)?;
    Ok(is_same(&args::octets(cx, args, 0)?, &second).into())
}

pub fn is_same(first: &[u8], second: &[u8]) -> bool {
    first.ct_eq(second).into()
}

fn hash_value(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut key = Vec::new();
    structural(cx, at(args, 0), &mut key)?;
    Ok(Value::Int(super::types::fnv1a(&key) as i64))
}

/// A text that is the same for equal values: a whole float is its int, a set has no order.
fn structural(cx: &mut Cx<'_>, value: &Value, key: &mut Vec<u8>) -> Result<(), Fault> {
    cx.charge(16)?;
    match value {
        Value::List(list) => {
            key.push(b'l');
            for item in list.iter() {
                structural(cx, item, key)?;
            }
        }
        Value::Pair(pair) => {
            key.push(b'p');
            structural(cx, &pair.first, key)?;
            structural(cx, &pair.second, key)?;
        }
        Value::Enum(value) => {
            key.extend(value.name.bytes().chain(*b".").chain(value.variant.bytes()));
            for field in &value.fields {
                structural(cx, field, key)?;
            }
        }
        Value::Dict(_) | Value::Struct(_) => {
            key.push(b'd');
            for (name, value) in args::fields(value).into_iter().flat_map(|dict| dict.iter()) {
                cx.charge(name.as_str().len())?;
                key.extend(name.as_str().bytes().chain([0]));
                structural(cx, value, key)?;
            }
        }
        Value::Set(set) => unordered(cx, set, key)?,
        scalar => structural_scalar(cx, scalar, key)?,
    }
    key.push(0);
    Ok(())
}

fn unordered(cx: &mut Cx<'_>, set: &Set, key: &mut Vec<u8>) -> Result<(), Fault> {
    let mut parts = Vec::new();
    for item in set.iter() {
        let mut part = Vec::new();
        structural(cx, item, &mut part)?;
        parts.push(part);
    }
    parts.sort();
    key.push(b's');
    key.extend(parts.concat());
    Ok(())
}

/// Apart from the rest, which calls itself and should take little of the stack.
fn structural_scalar(cx: &mut Cx<'_>, value: &Value, key: &mut Vec<u8>) -> Result<(), Fault> {
    match value {
        Value::Int(number) => key.extend(format!("n{}", *number as f64).bytes()),
        Value::Float(number) => key.extend(format!("n{}", *number + 0.0).bytes()),
        other => {
            let printed = args::print(cx, other)?;
            cx.charge(printed.len())?;
            key.extend(other.type_name().bytes().chain(*b":").chain(printed.bytes()));
        }
    }
    Ok(())
}
