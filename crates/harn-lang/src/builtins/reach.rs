//! What the rules for addresses and commands need: patterns with `*`, hosts by name, port and network, links.

use std::net::IpAddr;

use url::Url;

use super::Cx;
use super::args::{self, at};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

/// `*` stands for any text; everything else for itself.
pub fn glob(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (pattern, text) = (args::text(cx, args, 0)?, args::text(cx, args, 1)?);
    cx.work(pattern.len().saturating_add(1).saturating_mul(text.len().saturating_add(1)));
    Ok(fits(pattern.as_bytes(), text.as_bytes()).into())
}

/// Goes back to the last `*` only, which is enough: what an earlier one could take, the last one can take as well.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, read));
            at += 1;
        } else if pattern.get(at) == Some(&text[read]) {
            at += 1;
            read += 1;
        } else if let Some((before, taken)) = star {
            star = Some((before, taken + 1));
            at = before + 1;
            read = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// `example.com`, `*.example.com`, `10.0.0.0/8`, each also with a port after it, or `*`.
pub fn host_fits(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (rule, host) = (args::text(cx, args, 0)?, args::text(cx, args, 1)?);
    let port = args::int(args, 2);
    cx.work(rule.len() + host.len());
    let broken = || {
        Fault::thrown(format!(
            "egress_policy: '{rule}' is no rule; write a host such as 'example.com', '*.example.com' or \
             'example.com:443', or a network such as '10.0.0.0/8'"
        ))
    };
    let (wanted, wanted_port) = with_port(rule.trim()).ok_or_else(broken)?;
    let is_host = match wanted.split_once('/') {
        Some((network, bits)) => {
            let network: IpAddr = bare(network).parse().map_err(|_| broken())?;
            let bits: u32 = bits.parse().map_err(|_| broken())?;
            let most = if network.is_ipv4() { 32 } else { 128 };
            if bits > most {
                return Err(broken());
            }
            bare(&host).parse().is_ok_and(|host| is_within(host, network, bits))
        }
        None if wanted.is_empty() || wanted.contains(char::is_whitespace) => return Err(broken()),
        None if bare(wanted).parse::<IpAddr>().is_ok() => {
            let address =
                |text: &str| bare(text).parse::<IpAddr>().ok().map(|address| address.to_canonical());
            address(wanted) == address(&host)
        }
        None => {
            let wanted = wanted.to_ascii_lowercase();
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            fits(bare(&wanted).as_bytes(), bare(&host).as_bytes())
        }
    };
    Ok((is_host && wanted_port.is_none_or(|wanted| Some(wanted) == port)).into())
}

/// A rule and the port that it ends with. An IPv6 address has colons of its own, so that it needs brackets.
fn with_port(rule: &str) -> Option<(&str, Option<i64>)> {
    let port = |text: &str| text.parse::<u16>().ok().map(i64::from);
    if let Some((host, after)) = rule.rsplit_once(']') {
        let end = host.len() + 1;
        return match after.strip_prefix(':') {
            Some(digits) => Some((&rule[..end], Some(port(digits)?))),
            None => Some((rule, None)),
        };
    }
    match rule.split_once(':') {
        Some((host, digits)) if !digits.contains(':') => Some((host, Some(port(digits)?))),
        _ => Some((rule, None)),
    }
}

fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn is_within(host: IpAddr, network: IpAddr, bits: u32) -> bool {
    let number = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, false),
        IpAddr::V6(address) => (u128::from(address), true),
    };
    // An IPv4 address may be written as IPv6, which must not be a way around a rule.
    let ((host, host_is_v6), (network, network_is_v6)) = (number(host.to_canonical()), number(network));
    let differ = host ^ network;
    host_is_v6 == network_is_v6 && (bits == 0 || differ >> (128 - bits) == 0)
}

/// A link as found on a page: relative to it, or an address of its own.
pub fn url_join(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (base, link) = (args::text(cx, args, 0)?, args::text(cx, args, 1)?);
    cx.charge(base.len().saturating_add(link.len()).saturating_mul(4))?;
    let joined = Url::parse(&base).and_then(|base| base.join(&link));
    let joined = joined
        .map_err(|error| Fault::thrown(format!("'{}' is no address: {error}", at(args, 1).display())))?;
    Ok(joined.to_string().into())
}
