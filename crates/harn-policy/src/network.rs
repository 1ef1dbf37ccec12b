//! Which commands reach over the network, and which hosts they name.

use unicode_normalization::UnicodeNormalization;

use crate::command::Command;
use crate::programs;

/// The host that a URL names, in lower case; none when the text is no URL with a host.
pub fn host_of_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let known = !scheme.is_empty()
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !known || scheme == "file" {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    host_of_authority(authority.rsplit('@').next().unwrap_or_default())
}

/// Where a URL with a host begins in a word: `--url=https://example.com`.
pub fn url_start(text: &str) -> Option<usize> {
    let end = text.find("://")?;
    let scheme = text[..end].bytes().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let start = end - scheme;
    host_of_url(&text[start..]).map(|_| start)
}

/// A URL, or a pattern over URLs, so that `*` cannot leave the part in which it stands: only the slashes up to the host
/// stay slashes. None when the host is written in a way that is easily misread.
pub fn parted_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let (authority, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let clear = !authority.contains(['@', '#', '\\', '?']);
    let path = path.map(|path| format!("/{}", path.replace('/', "\u{1}"))).unwrap_or_default();
    clear.then(|| format!("{}://{}{path}", scheme.to_lowercase(), authority.to_lowercase()))
}

fn host_of_authority(authority: &str) -> Option<String> {
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    // Full stops of other scripts separate the parts of a name as well.
    let host: String =
        host.nfkc().map(|c| if matches!(c, '\u{3002}' | '\u{ff61}') { '.' } else { c }).collect();
    let host = host.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_lowercase())
}

/// A URL argument, or one that is only a host name.
pub fn host_of_argument(text: &str) -> Option<String> {
    host_of_url(text).or_else(|| {
        let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
        host_of_authority(authority.rsplit('@').next().unwrap_or_default())
    })
}

/// Whether a command is known to use the network.
pub fn reaches_out(command: &Command) -> bool {
    let Some(program) = command.program.as_deref() else { return false };
    let verb = command
        .identity
        .as_deref()
        .and_then(|identity| identity.split_once(' '))
        .map_or("", |(_, verb)| verb);
    match program {
        "curl" | "wget" | "ssh" | "scp" | "sftp" | "rsync" | "nc" | "ncat" | "netcat" | "telnet" | "ftp"
        | "aria2c" | "http" | "https" | "xh" | "socat" | "ping" | "dig" | "nslookup" | "host" | "whois"
        | "traceroute" | "nmap" | "npx" | "bunx" | "pipx" | "uvx" | "aws" | "gcloud" | "az" | "gh"
        | "glab" | "kubectl" | "helm" | "twine" => true,
        "git" => matches!(verb, "clone" | "push" | "pull" | "fetch" | "ls-remote" | "submodule" | "lfs"),
        "npm" | "pnpm" | "yarn" | "bun" => {
            matches!(
                verb,
                "install" | "i" | "ci" | "add" | "update" | "publish" | "audit" | "dlx" | "exec" | "login"
            ) || (program == "yarn" && verb.is_empty())
        }
        "pip" | "pip3" | "uv" | "poetry" => {
            matches!(verb, "install" | "download" | "add" | "sync" | "pip" | "publish" | "lock" | "update")
        }
        "cargo" => {
            matches!(verb, "install" | "publish" | "fetch" | "search" | "update" | "add" | "login" | "yank")
        }
        "go" => matches!(verb, "get" | "install" | "mod"),
        "gem" | "bundle" | "composer" | "brew" | "apt" | "apt-get" | "dnf" | "yum" | "apk" | "pacman"
        | "rustup" | "conda" => !matches!(verb, "list" | "show" | "info" | ""),
        "docker" | "podman" => matches!(verb, "pull" | "push" | "login" | "build" | "run" | "compose"),
        _ => false,
    }
}

/// Whether policy takes a shell command to reach the network: then it was judged as one that does, and may.
pub fn reaches_network(command: &str) -> bool {
    crate::analyse::analyse(command).commands.iter().any(reaches_out)
}

/// The hosts that a network command names.
pub fn hosts(command: &Command) -> Vec<String> {
    let in_word = |text: &str| url_start(text).and_then(|at| host_of_url(&text[at..]));
    let mut found: Vec<String> = command.args().iter().filter_map(|word| in_word(&word.text)).collect();
    let program = command.program.as_deref().unwrap_or_default();
    let operands = command.operands().filter(|word| !word.dynamic).map(|word| word.text.as_str());
    match program {
        "ssh" | "sftp" | "telnet" | "nc" | "ncat" | "netcat" | "ping" | "dig" | "nslookup" | "host"
        | "whois" | "ftp" => {
            let valued = programs::wrapper(program).map_or(&[][..], |wrapper| wrapper.valued);
            let mut skipped = false;
            let host = command.args().iter().map(|word| word.text.as_str()).find(|word| {
                let value = std::mem::replace(&mut skipped, valued.contains(word));
                !value && !word.starts_with('-')
            });
            found.extend(host.filter(|word| !word.contains("://")).and_then(host_of_argument));
        }
        "scp" | "rsync" | "git" => found.extend(operands.filter_map(remote_path_host)),
        "curl" | "wget" | "http" | "https" | "xh" => {
            // Without a scheme these take a host name.
            let bare = |word: &&str| {
                !word.contains("://")
                    && word.contains('.')
                    && !word.starts_with(['.', '/', '@'])
                    && !word.contains('=')
            };
            found.extend(operands.filter(bare).filter_map(host_of_argument));
        }
        _ => {}
    }
    found.sort();
    found.dedup();
    found
}

/// `user@host:path`
fn remote_path_host(word: &str) -> Option<String> {
    let (host, _) =
        word.split_once(':').filter(|(host, path)| !host.contains('/') && !path.starts_with("//"))?;
    let named = host.contains('@') || host.contains('.');
    named.then(|| host_of_argument(host)).flatten()
}
