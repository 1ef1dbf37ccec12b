//! What is known of programs: which run others, which have subcommands, which read code, which only take files.

/// How a program that runs another program is looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Only the inner command counts; the outer one adds nothing of its own.
    Through,
    /// The inner command counts, and the outer one as well.
    Both,
    /// As `Both`, and the inner command gets further words that nobody knows.
    Appended,
    /// As `Both`; the rest of the words is joined and read by a shell.
    Joined,
}

/// A program that runs another. An option that is in none of its lists makes it uncertain where the inner command begins.
pub struct Wrapper {
    pub runs: Runs,
    /// Options that take the next word as their value.
    pub valued: &'static [&'static str],
    /// Options without a value: letters, and then long ones with blanks between them.
    pub flags: &'static str,
    /// Words before the inner command that are neither options nor part of it.
    pub operands: usize,
    /// `NAME=value` words stand before the inner command.
    pub assigns: bool,
}

const fn through(flags: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { runs: Runs::Through, valued, flags, operands, assigns: false }
}

const fn both(flags: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { runs: Runs::Both, ..through(flags, valued, operands) }
}

const SUDO: &[&str] = &[
    "-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-D", "--chdir", "-R", "-T",
    "-r", "-t",
];
const SSH: &[&str] = &[
    "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R",
    "-S", "-W", "-w",
];
const XARGS: &[&str] = &[
    "-I",
    "-n",
    "-P",
    "-L",
    "-d",
    "-a",
    "-s",
    "-E",
    "--max-args",
    "--max-procs",
    "--max-lines",
    "--max-chars",
    "--arg-file",
    "--delimiter",
    "--replace",
];
const TRACE: &[&str] = &["-o", "-e", "-s", "-P", "-p", "-a", "-O", "-S", "-u", "-E", "-I"];

pub fn wrapper(name: &str) -> Option<Wrapper> {
    Some(match name {
        "command" => through("pvV", &[], 0),
        "builtin" | "nohup" => through("", &[], 0),
        "setsid" => through("cfw --ctty --fork --wait", &[], 0),
        "exec" => through("cl", &["-a"], 0),
        "nice" => through("0123456789", &["-n", "--adjustment"], 0),
        "ionice" => through("t --ignore", &["-c", "-n", "--class", "--classdata"], 0),
        "time" => through("pv --portability --verbose", &["-f", "--format"], 0),
        "timeout" | "gtimeout" => through(
            "v --foreground --preserve-status --verbose",
            &["-s", "--signal", "-k", "--kill-after"],
            1,
        ),
        "stdbuf" => through("", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
        "env" => {
            Wrapper { assigns: true, ..through("i0v --ignore-environment --null", &["-u", "--unset"], 0) }
        }
        "sudo" => Wrapper { assigns: true, ..both("AbEeHiKklnPSsVv --non-interactive --stdin", SUDO, 0) },
        "doas" => both("Lns", &["-u", "-C", "-a"], 0),
        "pkexec" => both(" --disable-internal-agent", &["--user"], 0),
        "chroot" => both("", &["--userspec", "--groups"], 1),
        "flock" => both("seunxoFv --shared --exclusive --nonblock", &["-w", "-E", "--timeout"], 1),
        "strace" | "ltrace" => both("fFcCdDhiknqrtTvwxyzZ", TRACE, 0),
        "unshare" => both("muinpUrfTC --user --map-root-user --fork --pid --mount --net", &[], 0),
        "nsenter" => both("amuinpUCTFZ --all", &["-t", "--target"], 0),
        "systemd-run" => both(
            "dPqtrGS --user --scope --pty --pipe --wait --collect --quiet",
            &["-p", "-u", "--unit", "-E"],
            0,
        ),
        "caffeinate" => both("dimsu", &["-t", "-w"], 0),
        "busybox" | "toybox" | "fakeroot" | "proxychains" | "torsocks" | "dbus-run-session" | "valgrind"
        | "rlwrap" | "unbuffer" | "firejail" | "dumb-init" | "tini" | "numactl" | "linux32" | "linux64"
        | "bwrap" | "setpriv" => both("", &[], 0),
        "taskset" | "chrt" | "gosu" | "su-exec" | "setarch" => both("", &[], 1),
        "xargs" => {
            Wrapper { runs: Runs::Appended, ..both("0prtxo --null --no-run-if-empty --verbose", XARGS, 0) }
        }
        "parallel" | "entr" => Wrapper { runs: Runs::Appended, ..both("0kuqrcdnps", &["-j", "--jobs"], 0) },
        "ssh" => Wrapper { runs: Runs::Joined, ..both("46AaCfGgKkMNnqsTtVvXxYy", SSH, 1) },
        "watch" => Wrapper {
            runs: Runs::Joined,
            ..both("bcdegprtwx --differences --errexit --no-title", &["-n", "--interval"], 0)
        },
        "eval" => Wrapper { runs: Runs::Joined, ..both("", &[], 0) },
        _ => return None,
    })
}

/// Programs that give the rights of another user.
pub fn takes_rights(name: &str) -> bool {
    matches!(name, "sudo" | "sudoedit" | "doas" | "pkexec" | "su" | "runuser" | "run0" | "gosu" | "su-exec")
}

pub fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "mksh" | "ash" | "rbash" | "fish" | "csh" | "tcsh"
    )
}

/// The options with which an interpreter takes its program as text; none when it is no interpreter.
pub fn inline_options(name: &str) -> Option<&'static [&'static str]> {
    let versioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match versioned {
        "python" | "pypy" | "guile" => &["-c"],
        "perl" => &["-e", "-E", "-ne", "-pe", "-i"],
        "ruby" | "lua" | "luajit" | "osascript" => &["-e"],
        "node" | "nodejs" | "bun" => &["-e", "--eval", "-p", "--print"],
        "deno" => &["eval"],
        "php" => &["-r"],
        "rscript" | "elixir" | "julia" | "groovy" | "r" | "scala" => &["-e"],
        "pwsh" | "powershell" => &["-Command", "-command", "-c", "-EncodedCommand"],
        "tclsh" | "wish" => &[],
        "expect" => &["-c"],
        _ => return None,
    })
}

/// Options of an interpreter that take the next word as their value.
pub fn valued_options(name: &str) -> &'static [&'static str] {
    match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "python" | "pypy" => &["-X", "-W", "-c", "-Q", "--check-hash-based-pycs"],
        "perl" => &["-I", "-e", "-E", "-x"],
        "ruby" => &["-r", "-I", "-C", "-E", "-e", "--encoding", "--require"],
        "node" | "nodejs" | "bun" | "deno" => &[
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "--input-type",
            "-C",
            "--conditions",
            "-e",
            "-p",
            "--env-file",
            "--config",
            "-c",
            "--import-map",
            "--cert",
            "--lock",
        ],
        "php" => &["-d", "-c", "-r", "-z", "-B", "-E", "-R"],
        "lua" | "luajit" => &["-l", "-e"],
        "pwsh" | "powershell" => &["-ExecutionPolicy", "-WorkingDirectory", "-Command", "-c"],
        _ => &[],
    }
}

/// Programs whose first plain word says what they do, and their global options that take a value.
pub fn subcommand_options(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "git" => &[
            "-C",
            "-c",
            "--git-dir",
            "--work-tree",
            "--namespace",
            "--super-prefix",
            "--config-env",
            "--attr-source",
        ],
        "cargo" => &["-C", "--config", "--color", "--manifest-path", "-Z"],
        "docker" | "podman" => &["-H", "--host", "--context", "-c", "-l", "--log-level", "--config"],
        "kubectl" | "helm" => &["-n", "--namespace", "--context", "--kubeconfig", "-s", "--server"],
        "npm" | "pnpm" | "yarn" => &[
            "--prefix",
            "-C",
            "--cwd",
            "--dir",
            "-w",
            "--workspace",
            "--filter",
            "--registry",
            "--tag",
            "--otp",
            "--access",
            "--userconfig",
            "--cache",
            "--loglevel",
        ],
        "pip" | "pip3" | "uv" | "poetry" | "gem" | "bundle" | "composer" | "brew" | "apt" | "apt-get"
        | "dnf" | "yum" | "pacman" | "apk" | "systemctl" | "service" | "gh" | "glab" | "aws" | "gcloud"
        | "az" | "terraform" | "rustup" | "conda" | "svn" | "hg" | "deno" | "mvn" | "twine" => &[],
        "go" => &["-C"],
        _ => return None,
    })
}

/// Programs whose plain words are files, whatever they look like.
pub fn takes_files(name: &str) -> bool {
    const NAMES: &[&str] = &[
        ".",
        "base64",
        "bat",
        "cat",
        "cd",
        "chgrp",
        "chmod",
        "chown",
        "cmp",
        "code",
        "column",
        "comm",
        "cp",
        "cut",
        "diff",
        "du",
        "file",
        "gunzip",
        "gzip",
        "head",
        "hexdump",
        "install",
        "less",
        "ln",
        "ls",
        "md5sum",
        "mkdir",
        "more",
        "mv",
        "nano",
        "nl",
        "od",
        "open",
        "paste",
        "pushd",
        "readlink",
        "realpath",
        "rm",
        "rmdir",
        "scp",
        "sha1sum",
        "sha256sum",
        "sha512sum",
        "shred",
        "sort",
        "source",
        "stat",
        "strings",
        "tac",
        "tail",
        "tar",
        "tee",
        "touch",
        "tree",
        "truncate",
        "uniq",
        "unlink",
        "vi",
        "vim",
        "wc",
        "xxd",
        "zip",
    ];
    NAMES.binary_search(&name).is_ok()
}

/// Programs whose first plain word is a pattern or a script and no file.
pub fn takes_pattern(name: &str) -> bool {
    matches!(
        name,
        "grep"
            | "egrep"
            | "fgrep"
            | "zgrep"
            | "rg"
            | "ag"
            | "ack"
            | "sed"
            | "awk"
            | "gawk"
            | "mawk"
            | "nawk"
            | "jq"
            | "tr"
    )
}

/// Programs that change the files that they name.
pub fn changes_files(name: &str, words: &[crate::shell::Word]) -> bool {
    match name {
        "rm" | "rmdir" | "mv" | "cp" | "ln" | "tee" | "touch" | "mkdir" | "install" | "shred"
        | "truncate" | "chmod" | "chown" | "chgrp" | "unlink" | "dd" | "rsync" | "patch" => true,
        "sed" | "perl" => words.iter().any(|word| {
            word.text.starts_with("-i") || word.text.starts_with("--in-place") || word.text.starts_with("-pi")
        }),
        _ => false,
    }
}

/// Variables that change which program runs or what it does.
pub fn steers_programs(variable: &str) -> bool {
    const NAMES: &[&str] = &[
        "PATH",
        "IFS",
        "ENV",
        "BASH_ENV",
        "HOME",
        "SHELL",
        "PAGER",
        "EDITOR",
        "VISUAL",
        "PROMPT_COMMAND",
        "CDPATH",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PERL5LIB",
        "PERL5OPT",
        "RUBYOPT",
        "RUBYLIB",
        "NODE_OPTIONS",
        "CLASSPATH",
        "JAVA_TOOL_OPTIONS",
        "LESSOPEN",
        "LESSCLOSE",
        "RUSTC_WRAPPER",
        "BROWSER",
        "MANPAGER",
        "PS4",
        "SHELLOPTS",
    ];
    NAMES.contains(&variable)
        || ["LD_", "DYLD_", "GIT_", "BASH_FUNC_"].iter().any(|prefix| variable.starts_with(prefix))
}
