//! Every block of Harn code in the specification, through the real binary: read, laid out, checked, and run.
//!
//! The blocks stand in `crates/harn-lang/tests/programs/spec_*.harn`, as they are written there. Most of them need an MCP
//! server or a client, so they are run with stand-ins that are written in Harn: a function of a program comes before a
//! builtin of its name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::Project;

enum Fate {
    /// It needs nothing, and prints this.
    Runs(&'static str),
    /// It needs a host, and with stand-ins put before it prints this.
    StandsIn { without: &'static str, with: &'static str, prints: &'static str },
    /// It is only read and laid out; `harn check` says this.
    Later(&'static str),
}

use Fate::{Later, Runs, StandsIn};

const BLOCKS: &[(&str, Fate)] = &[
    (
        "auto",
        StandsIn {
            without: "Undefined variable: mcp",
            with: "let mcp = {filesystem: \"files\"}\nfn mcp_list_tools(client) { return [] }\n\
                   fn mcp_call(client, name, args) { return \"${client} ${name} ${args.path}\" }\n",
            prints: "[harn] files read_file /tmp/data.txt\n",
        },
    ),
    (
        "cards",
        StandsIn {
            without: "mcp_server_card",
            with: "fn mcp_server_card(name) { return {description: name, tools: [{name: \"search\"}]} }\n",
            prints: "[harn] notion\n[harn] - search\n",
        },
    ),
    (
        "close",
        StandsIn {
            without: "Undefined variable: client",
            with: "let client = {name: \"files\"}\nfn mcp_disconnect(client) { println(client.name) }\n",
            prints: "files\n",
        },
    ),
    // The module `std/composition` runs programs that a model writes; it comes with the MCP server.
    ("composition", Later("Unknown stdlib module: std/composition")),
    (
        "connect",
        StandsIn {
            without: "mcp_connect",
            with: "fn mcp_connect(command, args) { return [command, ...args] }\n\
                   fn mcp_server_info(client) { return {name: client[2]} }\n",
            prints: "[harn] Connected to: @modelcontextprotocol/server-filesystem\n",
        },
    ),
    (
        "disconnect",
        StandsIn {
            without: "mcp_connect",
            with: "fn mcp_connect(command, args) { return command }\nfn mcp_disconnect(client) { println(client) }\n\
                   fn mcp_call(client, name, args) { return name }\n",
            prints: "[harn] read_file\n[harn] list_directory\nnpx\n",
        },
    ),
    (
        "file_input",
        StandsIn {
            without: "Undefined variable: harn",
            with: "let harn = {mcp: {file_input: { hints -> {type: \"string\", description: hints.description} }}}\n\
                   fn mcp_tools(tools) {\n let found = tool_find(tools, \"inspect_upload\")\n let handler = found.handler\n \
                   println(handler({upload: found.parameters.upload.description}))\n}\n",
            prints: "received Small text file to inspect\n",
        },
    ),
    (
        "file_upload",
        StandsIn {
            without: "Undefined variable: harn",
            with: "let harn = {mcp: {configure: { c -> println(c.experimental) }, \
                   upload_file: { client, path, hints -> \"${path} ${hints.max_size}\" }}}\n\
                   fn mcp_connect(command, args) { return command }\n\
                   fn mcp_call(client, name, args) { return args.image }\n",
            prints: "{file_upload: {spec_revision: modelcontextprotocol/modelcontextprotocol#2356}}\n\
                     [harn] photo.png 5242880\n",
        },
    ),
    (
        "registry",
        StandsIn {
            without: "mcp_ensure_active",
            with: "fn mcp_ensure_active(name) { return name }\nfn mcp_call(client, name, args) { return [] }\n\
                   fn mcp_release(name) { println(name) }\n\
                   fn mcp_registry_status() { return [{name: \"github\", lazy: true, active: false, ref_count: 0}] }\n",
            prints: "github\n[harn] github: lazy=true active=false refs=0\n",
        },
    ),
    (
        "resources",
        StandsIn {
            without: "Undefined variable: client",
            with: "let client = {name: \"files\"}\nfn mcp_list_resources(client) { return [] }\n\
                   fn mcp_read_resource(client, uri) { println(uri) }\nfn mcp_list_prompts(client) { return [] }\n\
                   fn mcp_get_prompt(client, name, args) { println(args.code) }\n",
            prints: "file:///tmp/config.json\nfn main() {}\n",
        },
    ),
    (
        "server",
        StandsIn {
            without: "mcp_tools",
            with: "fn mcp_tools(tools) {\n println(tool_describe(tools))\n let greet = tool_find(tools, \"greet\").handler\n \
                   println(greet({name: \"Ada\"}))\n}\n",
            prints: "- greet(name: string): Greet someone\n- search(query: string): Search files\nHello, Ada!\n",
        },
    ),
    (
        "server_resources",
        StandsIn {
            without: "mcp_resource",
            with: "fn mcp_resource(config) { println(config.text) }\n\
                   fn mcp_resource_template(config) {\n let handler = config.handler\n println(handler({key: \"k\"}))\n}\n\
                   fn mcp_prompt(config) {\n let handler = config.handler\n println(handler({code: \"x = 1\"}))\n}\n",
            prints: "# My Agent\nA demo MCP server.\nvalue for k\nPlease review:\nx = 1\n",
        },
    ),
    ("skill", Runs("")),
    (
        "tools",
        StandsIn {
            without: "Undefined variable: client",
            with: "let client = {name: \"files\"}\n\
                   fn mcp_list_tools(client) { return [{name: \"read_file\", description: \"Reads\"}] }\n\
                   fn mcp_call(client, name, args) { return args.path }\n",
            prints: "[harn] read_file: Reads\n[harn] /tmp/data.txt\n",
        },
    ),
    ("typed_pipeline", Runs("")),
];

fn blocks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../harn-lang/tests/programs")
}

#[test]
fn every_block_has_its_fate() {
    let mut names: Vec<String> = fs::read_dir(blocks())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter_map(|name| Some(name.strip_prefix("spec_")?.strip_suffix(".harn")?.to_owned()))
        .collect();
    names.sort();
    assert_eq!(names, BLOCKS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn every_block_is_laid_out_checked_and_run() {
    for (name, fate) in BLOCKS {
        let text = fs::read_to_string(blocks().join(format!("spec_{name}.harn"))).unwrap();
        let project = Project::new();
        let write = |text: &str| fs::write(project.path().join("block.harn"), text).unwrap();
        write(&text);
        project.out(&["fmt", "block.harn"]);
        project.out(&["fmt", "--check", "block.harn"]);
        let fails = |command: &str, says: &str| {
            let output = project.run(&[command, "block.harn"]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && said.contains(says), "{name}: {command}: {said}");
        };
        match fate {
            Later(says) => fails("check", says),
            Runs(prints) => {
                project.out(&["check", "block.harn"]);
                assert_eq!(project.out(&["run", "block.harn"]), *prints, "{name}");
            }
            StandsIn { without, with, prints } => {
                // A name that a host may have is no error.
                project.out(&["check", "block.harn"]);
                fails("run", without);
                write(&format!("{with}{text}"));
                assert_eq!(project.out(&["run", "block.harn"]), *prints, "{name}");
            }
        }
    }
}
