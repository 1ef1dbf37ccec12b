//! Encodings, hashes, signatures, tables, addresses, paths, dates and archives.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{check, run_with, told};

#[test]
fn encodings_and_hashes() {
    check(&[
        ("base32_encode('hi')", "NBUQ===="),
        ("base32_decode('NBUQ====')", "hi"),
        ("base64_encode('hi\u{e9}')", "aGnDqQ=="),
        ("base64_decode('aGnDqQ==')", "hi\u{e9}"),
        ("base64_decode('/w==')", "b\"ff\""),
        ("base64_decode('!')", "Thrown: base64_decode: invalid length at 0"),
        ("base64url_encode(bytes_from_hex('fbff'))", "-_8"),
        ("base64url_decode('aGk')", "hi"),
        ("base64url_decode('aGk=')", "hi"),
        ("hex_encode('hi')", "6869"),
        ("hex_decode('6869')", "hi"),
        ("hex_decode('6')", "Thrown: hex_decode: invalid length at 0"),
        ("url_encode('a b/\u{e9}~')", "a%20b%2F%C3%A9~"),
        ("url_decode('a%20b%2F%C3%A9%zz%')", "a b/\u{e9}%zz%"),
        ("md5('')", "d41d8cd98f00b204e9800998ecf8427e"),
        ("sha224('abc')", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        ("sha256('abc')", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "sha384('abc')",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
        ),
        ("sha512_256('abc')", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
        ("sha512('abc').substring(0, 16)", "ddaf35a193617aba"),
        ("sha3_256('abc')", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
        ("sha3_512('abc').substring(0, 16)", "b751850b1a57168a"),
        ("blake3('abc')", "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"),
        (
            "hmac_sha256('key', 'The quick brown fox jumps over the lazy dog')",
            "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
        ),
        ("hmac_sha256_base64('key', 'x')", "T8O36vNNfllKb1HZUXulQ6v0EGeydYf/2CujWE5NPN0="),
        ("constant_time_eq('a', 'a')", "true"),
        ("constant_time_eq('a', 'ab')", "false"),
    ]);
    for (a, b, same) in [
        ("1", "1.0", true),
        ("[1, 2]", "[2, 1]", false),
        ("set(1, 2)", "set(2, 1)", true),
        ("{a: 1, b: 2}", "{b: 2, a: 1}", true),
        ("['ab', 'c']", "['a', 'bc']", false),
        ("nil", "'nil'", false),
    ] {
        let hash = |value: &str| told(&format!("hash_value({value})"));
        assert_eq!(hash(a) == hash(b), same, "{a} and {b}");
    }
}

const SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

#[test]
fn signatures() {
    let signature = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b4\
                     6bd25bf5f0595bbe24655141438e7a100b";
    assert_eq!(told(&format!("ed25519_sign('{SEED}', '')")), signature);
    assert_eq!(told(&format!("ed25519_verify('{PUBLIC}', '', '{signature}')")), "true");
    assert_eq!(told(&format!("ed25519_verify('{PUBLIC}', 'x', '{signature}')")), "false");
    assert_eq!(told(&format!("ed25519_verify('{PUBLIC}', '', 'zz')")), "false");
    check(&[
        (
            "ed25519_sign('ab', 'x')",
            "Thrown: ed25519_sign: a key is 32 bytes, in hexadecimal digits, base64 or PEM",
        ),
        (
            "x25519_agree('77076d0a7318a57d3c16c17251b26645df4c2f92ebc099ac0', 'x')",
            "Thrown: x25519_agree: a key is 32 bytes, in hexadecimal digits, base64 or PEM",
        ),
        (
            "x25519_agree('77076d0a7318a57d3c16c17251b26645df4c2f92ebc092f5a1cf9c4a3d0e2e00', \
             '0000000000000000000000000000000000000000000000000000000000000000')",
            "Thrown: x25519_agree: the key of the other side is of no use",
        ),
    ]);
    let agreed = |secret: &str, peer: &str| told(&format!("x25519_agree('{secret}', '{peer}')"));
    assert_eq!(
        agreed(
            "77076d0a7318a57d3c16c17251b26645df4c2f92ebc0992ac177fba51db92c2a",
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
        ),
        "ec555394277877e3ef665c2af39d396d8572f112cc8ce2af0972cb6a3989406d"
    );
}

#[test]
fn tokens() {
    check(&[
        (
            "__jwt_claims('HS256', jwt_sign('HS256', {sub: 'ann', n: 1}, 's3cret'), 's3cret')",
            "{n: 1, sub: ann}",
        ),
        ("__jwt_claims('HS384', jwt_sign('HS384', {a: 1}, 'k'), 'k')", "{a: 1}"),
        ("__jwt_claims('HS512', jwt_sign('HS512', {a: 1}, 'k'), 'k')", "{a: 1}"),
        (
            "__jwt_claims('HS256', jwt_sign('HS256', {}, 'k'), 'other')",
            "Thrown: jwt_verify: the signature does not hold",
        ),
        (
            "__jwt_claims('HS256', jwt_sign('HS512', {}, 'k'), 'k')",
            "Thrown: jwt_verify: the token is signed with HS512, expected HS256",
        ),
        ("__jwt_claims('HS256', 'a.b', 'k')", "Thrown: jwt_verify: this is no JSON web token"),
        (
            "jwt_sign('none', {}, 'k')",
            "Thrown: jwt_sign: unknown algorithm 'none', expected HS256, HS384, HS512, EdDSA, RS256 or ES256",
        ),
        ("jwt_sign('HS256', 1, 'k')", "Thrown: jwt_sign: claims must be a dict, got int"),
        (
            "verify_signed_url(signed_url('https://x.test/f?a=1', {user: 'ann b'}, 'k', 100), 'k', 99)",
            "{claims: {a: 1, user: ann b}, expires_at: 100, kid: nil, reason: nil, valid: true}",
        ),
        (
            "verify_signed_url(signed_url('https://x.test/f', {}, 'k', 100), 'k', 101)",
            "{claims: nil, reason: expired, valid: false}",
        ),
        (
            "verify_signed_url(signed_url('https://x.test/f', {}, 'k', 100), 'l', 1)",
            "{claims: nil, reason: bad_signature, valid: false}",
        ),
        (
            "verify_signed_url(signed_url('https://x.test/', {}, 'k', 9, {kid: 'one'}), {one: 'k'}, 1)",
            "{claims: {}, expires_at: 9, kid: one, reason: nil, valid: true}",
        ),
        (
            "verify_signed_url(signed_url('https://x.test/f#top', {a: 1}, 'k', 100), 'k', 99)",
            "{claims: {a: 1}, expires_at: 100, kid: nil, reason: nil, valid: true}",
        ),
        (
            "signed_url('https://x.test/', {}, 'k', 'abc')",
            "Thrown: signed_url: expires_at must be a number, got string",
        ),
        (
            "signed_url('https://x.test/', {}, nil, 9)",
            "Thrown: signed_url: the secret must be a string or bytes, got nil",
        ),
        ("jwt_sign('HS256', {}, nil)", "Thrown: jwt_sign: the secret must be a string or bytes, got nil"),
        ("jwt_sign('HS256', {}, '')", "Thrown: jwt_sign: the secret must not be empty"),
        ("hmac_sha256(nil, 'x')", "Thrown: hmac_sha256: the secret must be a string or bytes, got nil"),
        (
            "verify_signed_url('https://x.test/', 'k', 1)",
            "{claims: nil, reason: missing_signature, valid: false}",
        ),
    ]);
    let address = told("signed_url('https://x.test/f#top', {}, 'k', 100)");
    assert!(address.starts_with("https://x.test/f?exp=100&sig=") && address.ends_with("#top"), "{address}");
    let call = format!("__jwt_claims('EdDSA', jwt_sign('EdDSA', {{a: 1}}, '{SEED}'), '{PUBLIC}')");
    assert_eq!(told(&call), "{a: 1}");
}

/// Made with `openssl genpkey`, for these tests only.
const RSA: &str = include_str!("keys/rsa.pem");
const RSA_PUBLIC: &str = include_str!("keys/rsa.pub");
const ELLIPTIC: &str = include_str!("keys/ec.pem");
const ELLIPTIC_SEC1: &str = include_str!("keys/ec_sec1.pem");
const ELLIPTIC_PUBLIC: &str = include_str!("keys/ec.pub");
/// Signed with `openssl dgst -sha256 -sign`.
const SIGNED_ELSEWHERE: &str = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4ifQ.FqX60wW1IbO1oCWpSS_JpxRlbONnnmUkZSIm-bTLJDoQb6YtpwVBXGRP6-S9nEsHhzXa8sCt90cpBG7Axv2l8xMKvLum8v7hPbSSQTbW0PSAMhUbtajFT8ajyIjwZlCZvMBka7JUpt5bZYI5mGa_BS7hv30yVC-DxcsujuB5dNmuhKkW7OuxqLjXcJLNzDoCSGdw4heGHtBQfmZugfwzWtrb7AwJTBiaFK9CEuVPLuCDmlASe8hpuIWDmbnPmAS7TWm43WCH-csfEBOHiihV1LOc-_5A2sL2q2T_TgHdqaXAPESrugB0M3WV_AAIyCSFFeA4ijUkq-7yuN3_G9r3Gg";

#[test]
fn tokens_with_pairs_of_keys() {
    let token = |algorithm: &str, key: &str| format!("jwt_sign('{algorithm}', {{sub: 'ann'}}, '{key}')");
    let claims = |algorithm: &str, token: &str, key: &str| {
        told(&format!("__jwt_claims('{algorithm}', {token}, '{key}')"))
    };
    assert_eq!(told(&token("RS256", RSA)), SIGNED_ELSEWHERE);
    for (algorithm, private, public) in [
        ("RS256", RSA, RSA_PUBLIC),
        ("RS256", RSA, RSA),
        ("ES256", ELLIPTIC, ELLIPTIC_PUBLIC),
        ("ES256", ELLIPTIC_SEC1, ELLIPTIC_PUBLIC),
        ("ES256", ELLIPTIC, ELLIPTIC_SEC1),
    ] {
        let token = token(algorithm, private);
        assert_eq!(claims(algorithm, &token, public), "{sub: ann}");
        assert_eq!(told(&token), told(&token), "the same claims and key give the same token");
        let forged = format!("replace({token}, 'eyJz', 'eyJ0')");
        assert_eq!(claims(algorithm, &forged, public), "Thrown: jwt_verify: the signature does not hold");
    }
    assert_eq!(told(&token("RS256", ELLIPTIC)), "Thrown: jwt_sign: RS256 needs a private key in PEM");
    assert_eq!(told(&token("ES256", "secret")), "Thrown: jwt_sign: ES256 needs a private key in PEM");
    assert_eq!(
        claims("ES256", &token("ES256", ELLIPTIC), RSA_PUBLIC),
        "Thrown: jwt_verify: ES256 needs a public key in PEM"
    );
    // A public key is not a shared secret, whatever the token says of itself.
    assert_eq!(
        claims("HS256", &token("RS256", RSA), RSA_PUBLIC),
        "Thrown: jwt_verify: the token is signed with RS256, expected HS256"
    );
}

#[test]
fn tables_and_addresses() {
    check(&[
        ("csv_parse('a,b\\n1,\"x,y\"\\n2\\n')", "[{a: 1, b: x,y}, {a: 2, b: }]"),
        ("csv_parse('1;2\\n3;4', {headers: false, delimiter: ';'})", "[[1, 2], [3, 4]]"),
        (
            "csv_parse('', {delimiter: 'xx'})",
            "Thrown: csv_parse: delimiter must be one ASCII character, got xx",
        ),
        ("csv_stringify([{b: 'x,y', a: 1}, {a: nil, b: 'q\"'}])", "a,b\n1,\"x,y\"\n,\"q\"\"\"\n"),
        ("csv_stringify([[1, 2], [3]], {delimiter: ';'})", "1;2\n3\n"),
        ("csv_stringify([{a: 1, b: 2}], {headers: ['b']})", "b\n2\n"),
        ("csv_parse('1,2\\n3,4', {headers: ['a', 'b']})", "[{a: 1, b: 2}, {a: 3, b: 4}]"),
        ("csv_parse('a\\n1,2')", "Thrown: csv_parse: line 2 has 2 cells, but there are 1 names"),
        ("csv_parse('a,b\\n1,\"x\\ny')", "Thrown: csv_parse: the quote in line 2 is never closed"),
        ("csv_parse('a\\n\"x\"\"y\"\\nx\"y')", "[{a: x\"y}, {a: x\"y}]"),
        ("csv_stringify([{b: 1}, {a: 2}])", "a,b\n,1\n2,\n"),
        ("csv_stringify([1])", "Thrown: csv_stringify: a row must be a list or dict, got int"),
        (
            "url_parse('https://ann:pw@x.test:8080/a%20b?q=1#top')",
            "{fragment: top, host: x.test, password: pw, path: /a%20b, port: 8080, query: q=1, scheme: https, username: ann}",
        ),
        ("url_parse('nope')", "Thrown: url_parse: 'nope' is no address: relative URL without a base"),
        (
            "url_build({scheme: 'https', host: 'x.test', port: 81, path: '/a b', query: {q: '1&2'}, fragment: 'f'})",
            "https://x.test:81/a%20b?q=1%262#f",
        ),
        ("url_build({scheme: 'https'})", "Thrown: url_build: 'host' is missing"),
        (
            "query_parse('?a=1&b=x+y%21&a=2')",
            "[{key: a, value: 1}, {key: b, value: x y!}, {key: a, value: 2}]",
        ),
        ("query_stringify([{key: 'a', value: 'x y'}, {key: 'a', value: 2}])", "a=x+y&a=2"),
        ("query_stringify({b: 1, a: '&'})", "a=%26&b=1"),
    ]);
}

#[test]
fn paths() {
    check(&[
        ("path_basename('/a/b.txt')", "b.txt"),
        ("path_basename('/')", ""),
        ("path_extension('a/b.tar.gz')", "gz"),
        ("path_extension('.bashrc')", ""),
        ("path_is_absolute('/a')", "true"),
        ("path_is_absolute('C:\\\\a')", "true"),
        ("path_is_relative('a')", "true"),
        ("path_normalize('/a/./b//../c/')", "/a/c"),
        ("path_normalize('../../a/..')", "../.."),
        ("path_normalize('/../a')", "/a"),
        ("path_normalize('')", "."),
        ("path_parent('/a/b')", "/a"),
        ("path_parent('/a')", "/"),
        ("path_parent('a')", ""),
        (
            "path_parts('/a/b.txt')",
            "{absolute: true, basename: b.txt, extension: txt, parent: /a, segments: [a, b.txt], stem: b}",
        ),
        ("path_relative_to('/a/b/c', '/a')", "b/c"),
        ("path_relative_to('/a', '/a/')", "."),
        ("path_relative_to('/ab', '/a')", "nil"),
        ("path_relative_to('/a', '/')", "a"),
        ("path_segments('/a//b/')", "[a, b]"),
        ("path_stem('x/y.tar.gz')", "y.tar"),
        ("path_to_native('a/b')", "a/b"),
        ("path_to_posix('a\\\\b')", "a/b"),
        ("path_with_extension('/a/b.txt', '.md')", "/a/b.md"),
        ("path_with_extension('b.txt', '')", "b"),
        ("path_with_stem('/a/b.txt', 'c')", "/a/c.txt"),
        ("path_join('a', 'b/', 'c')", "a/b/c"),
        ("path_join('a', '/b', '', 'c')", "/b/c"),
        ("path_workspace_normalize('/w/src/../a.rs', '/w')", "a.rs"),
        ("path_workspace_normalize('../a', '/w')", "nil"),
        ("path_workspace_normalize('/etc/passwd', '/w')", "nil"),
        (
            "path_workspace_info('src/a.rs', '/w')",
            "{host_path: /w/src/a.rs, input: src/a.rs, kind: workspace_relative, workspace_path: src/a.rs}",
        ),
        (
            "path_workspace_info('/x', '/w')",
            "{host_path: nil, input: /x, kind: outside, workspace_path: nil}",
        ),
    ]);
}

#[test]
fn dates() {
    check(&[
        ("date_parse('2024-01-15T10:30:00Z')", "1705314600.0"),
        ("date_parse('2024-01-15')", "1705276800.0"),
        ("date_parse('2024-01-15 10:30:00')", "1705314600.0"),
        ("date_parse('2024-01-15T10:30:00.250+01:00')", "1705311000.25"),
        ("date_parse('2024/01/15 10:30')", "1705314600.0"),
        ("date_parse('Mon, 15 Jan 2024 10:30:00 +0000')", "1705314600.0"),
        ("date_parse('not a date')", "Thrown: Cannot parse date: not a date"),
        ("date_parse('2024-13-45')", "Thrown: Cannot parse date: 2024-13-45"),
        ("date_format(0)", "1970-01-01 00:00:00"),
        ("date_format(1705314600, '%d.%m.%Y %H:%M %Z', 'America/New_York')", "15.01.2024 05:30 EST"),
        ("date_format(0, '%Y', 'Mars/Base')", "Thrown: date_format: unknown time zone 'Mars/Base'"),
        ("date_format(inf)", "Thrown: date_format: Cannot parse date: inf"),
        ("date_add(0, duration_days(1))", "86400.0"),
        ("date_add(0, 5)", "Thrown: date_add: expected a duration, got int"),
        ("date_add(0, duration_ms(9223372036854775807))", "Thrown: date_add: there is no such date"),
        ("date_diff('2024-01-02', '2024-01-01')", "24h"),
        ("date_from_components({year: 2024, month: 1, day: 15, hour: 10, minute: 30})", "1705314600.0"),
        ("date_from_components({year: 2024, month: 7}, 'Europe/Berlin')", "1719784800.0"),
        (
            "date_from_components({year: 2024, month: 13})",
            "Thrown: date_from_components: there is no such date",
        ),
        (
            "date_in_zone(1705314600, '+02:00')",
            "{day: 15, hour: 12, iso8601: 2024-01-15T12:30:00+02:00, millisecond: 0, minute: 30, month: 1, \
             offset_seconds: 7200, second: 0, timestamp: 1705314600.0, weekday: 1, year: 2024, zone: }",
        ),
        ("date_to_zone(1705314600, 'America/New_York')", "2024-01-15T05:30:00-05:00"),
        ("date_to_zone(1705314600, 'UTC')", "2024-01-15T10:30:00Z"),
        ("weekday_name('2024-01-15')", "Monday"),
        ("month_name('2024-01-15', 'UTC')", "January"),
        ("duration_ms(1500)", "1500ms"),
        ("duration_seconds(1.5)", "1500ms"),
        ("duration_minutes(2)", "2m"),
        ("duration_hours(-1)", "-1h"),
        ("duration_days(1)", "24h"),
        ("duration_days('x')", "Thrown: a duration needs a number, got string"),
        ("duration_to_seconds(duration_minutes(2))", "120"),
        ("duration_to_human(duration_ms(93784005))", "1d 2h 3m 4s 5ms"),
        ("duration_to_human(duration_ms(0))", "0s"),
        ("duration_to_human('x')", "Type error: duration_to_human: expected a duration, got string"),
        ("duration_to_seconds(5)", "Type error: duration_to_seconds: expected a duration, got int"),
        ("date_format(1704445623, '%c|%x|%r')", "Fri Jan  5 09:07:03 2024|01/05/24|09:07:03 AM"),
        (
            "date_format(1704445623.045, '%+|%v|%f|%%f')",
            "2024-01-05T09:07:03.045+00:00| 5-Jan-2024|045000000|%f",
        ),
        ("date_format(date_parse('9999-12-31T23:59:59Z'), '%Y-%m')", "9999-12"),
        ("date_format('9999-12-31', '%Y-%m')", "9999-12"),
        ("date_parse('9999-13-01')", "Thrown: Cannot parse date: 9999-13-01"),
    ]);
}

#[test]
fn a_format_that_makes_no_sense_is_told() {
    assert!(told("date_format(0, '%&')").starts_with("Thrown: date_format: cannot use the format '%&': "));
}

#[test]
fn compression() {
    // The text takes 3 million bytes, and so does compressing it with Zstandard.
    for (codec, limit) in [("gzip", 5_000_000), ("zstd", 8_000_000), ("brotli", 5_000_000)] {
        let broken = format!("{codec}_decode(bytes_from_hex('ffff00'))");
        assert!(told(&broken).starts_with(&format!("Thrown: {codec}_decode: ")), "{codec}");
        let bomb = format!("{codec}_decode({codec}_encode('a'.repeat(3000000)))");
        let got = run_with(&bomb, limit).map_or_else(|fault| fault.to_string(), |_| "a value".to_owned());
        assert_eq!(got, format!("Memory limit exceeded: the program may use {limit} bytes"), "{codec}");
        assert_eq!(told(&format!("bytes_len({bomb})")), "3000000", "{codec}");
    }
    check(&[
        ("bytes_to_string(gzip_decode(gzip_encode('abcabc', 9)))", "abcabc"),
        ("zstd_decode('x')", "Thrown: zstd_decode: this is not Zstandard data, or it is damaged"),
        ("tar_create('x')", "Type error: tar_create: entries must be a list, got string"),
        ("zip_create({path: 'a'})", "Type error: zip_create: entries must be a list, got dict"),
        (
            "zip_create([{path: 'a', content: 'x'}, {path: 'a', content: 'y'}])",
            "Thrown: zip_create: there are two entries with the path 'a'",
        ),
        ("bytes_to_string(zstd_decode(zstd_encode('abcabc', 0)))", "abcabc"),
        ("bytes_to_string(brotli_decode(brotli_encode('abcabc', 11)))", "abcabc"),
        (
            "tar_extract(tar_create([{path: 'a/b.txt', content: 'hi', mode: 493}]))",
            "[{content: b\"6869\", mode: 493, path: a/b.txt, size: 2, type: file}]",
        ),
        (
            "tar_create([{path: '../x', content: ''}])",
            "Thrown: tar_create: the path '../x' leads out of the archive",
        ),
        ("tar_create([1])", "Thrown: tar_create: an entry must be a dict, got int"),
        (
            "zip_extract(zip_create([{path: 'a.txt', content: 'hi'}, {path: 'b', content: bytes_from_hex('00')}]))",
            "[{content: b\"6869\", path: a.txt, size: 2, type: file}, {content: b\"00\", path: b, size: 1, type: file}]",
        ),
        (
            "zip_create([{path: '/etc/x', content: ''}])",
            "Thrown: zip_create: the path '/etc/x' leads out of the archive",
        ),
        ("zip_create([{content: ''}])", "Thrown: zip_create: an entry needs a path"),
    ]);
    assert!(told("zip_extract('nope')").starts_with("Thrown: zip_extract: "));
    assert!(told("tar_extract('nope')").starts_with("Thrown: tar_extract: "));
}
