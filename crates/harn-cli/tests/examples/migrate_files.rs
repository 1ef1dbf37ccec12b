//! Files that are migrated once; one of them cannot be read.

use serde_json::json;

use crate::kit::{Stage, calls, last, result, results, says};

const FILES: &[(&str, &str)] = &[
    ("config/a.toml", "host = \"a.example\"\nport = 80\n"),
    ("config/b.toml", "host = \"b.example\"\nverbosity = 3\nuse_ssl = \"yes\"\n"),
    ("config/broken.toml", "host = \n"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_migrated_once_and_a_broken_one_is_reported() {
    let turns = vec![
        calls(&[("write_config", json!({ "values": { "log.level": "debug", "server.tls": "yes" } }))]),
        calls(&[("write_config", json!({ "values": { "log.level": "debug", "server.tls": true } }))]),
        says("verbosity 3 is the level debug"),
    ];
    let stage = Stage::new("migrate_files.harn", FILES, turns).await;
    let ran = stage.run(&["config"]);
    let (done, failed) = ran.out.split_once("FAIL").unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(
        done,
        "done config/a.toml: renamed 2 keys\ndone config/b.toml: verbosity 3 is the level debug\n"
    );
    assert!(
        failed.starts_with(" config/broken.toml: ") && failed.ends_with("\nleft to do: config/broken.toml\n"),
        "{failed}"
    );
    assert_eq!((ran.err.as_str(), ran.code), ("", Some(1)));
    assert_eq!(stage.read("config/a.toml"), "[server]\naddress = \"a.example\"\nport = 80\n");
    let migrated = "[log]\nlevel = \"debug\"\n\n[server]\naddress = \"b.example\"\ntls = true\n";
    assert_eq!(stage.read("config/b.toml"), migrated);
    assert_eq!(stage.read("config/broken.toml"), "host = \n");

    let asked = stage.asked();
    assert_eq!(asked.len(), 3);
    assert!(last(&asked[0]).contains(r#"{"use_ssl":"yes","verbosity":3}"#));
    let refused = &results(&asked[1])[0];
    assert!(
        refused.is_error && refused.text.contains("server.tls must be of type bool, got string"),
        "{refused:?}"
    );
    assert_eq!(results(&asked[2]), [result("written")]);

    // What is done is not done again; what was mended is.
    stage.write("config/broken.toml", "logfile = \"x.log\"\n");
    let ran = stage.run(&["config"]);
    let expected =
        "skip config/a.toml\nskip config/b.toml\ndone config/broken.toml: renamed 1 keys\nnothing is left\n";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), (expected, "", Some(0)));
    assert_eq!(stage.read("config/broken.toml"), "[log]\nfile = \"x.log\"\n");
    assert_eq!(stage.asked().len(), 3);
}
