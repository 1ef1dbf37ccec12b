//! Commands that would wait for a person at a terminal, and what to do instead.

use crate::analyse::analyse;
use crate::command::Command;
use crate::programs;

/// Why a shell command would wait at a terminal or never end, and what to do instead; none when it would not.
pub fn interactive(command: &str) -> Option<String> {
    analyse(command).commands.iter().find_map(waits)
}

pub(crate) fn waits(command: &Command) -> Option<String> {
    let program = command.program.as_deref()?;
    let (why, instead) = by_program(program, command).or_else(|| by_identity(command))?;
    Some(format!("`{program}` {why}; {instead}"))
}

type Advice = (&'static str, &'static str);

fn by_program(program: &str, command: &Command) -> Option<Advice> {
    const EDIT: Advice =
        ("opens an editor and waits for keys", "change the file with an editing tool or `sed -i`");
    const PAGE: Advice = ("pages and waits for keys", "use `cat`, `head` or `tail -n`");
    const SHOW: Advice = (
        "redraws the screen until somebody quits it",
        "use a form that prints once, such as `ps` or `top -bn1`",
    );
    const LOOP: Advice = ("reads commands from a terminal", "give it a script or a command to run");
    let fed = command.traits.piped || !command.redirects.is_empty();
    let informs = command.has(&["--help", "--version", "-V"]);
    match program {
        _ if informs => None,
        "vim" | "vi" | "nvim" | "nano" | "emacs" | "pico" | "joe" | "micro" | "ed" | "ex" | "hx" => {
            let scripted = command.has(&["-es", "-Es", "--batch", "-batch", "--headless"])
                || (fed && matches!(program, "ed" | "ex"));
            (!scripted).then_some(EDIT)
        }
        "less" | "more" | "most" | "man" => Some(PAGE),
        "top" => (!command.has(&["-b", "-l"])).then_some(SHOW),
        "htop" | "btop" | "atop" | "iotop" | "tmux" | "screen" | "mc" | "ranger" | "lazygit" | "tig"
        | "k9s" => Some(SHOW),
        "watch" => Some(("repeats without end", "run the command once, or in a loop with a limit")),
        "tail" if command.has(&["-f", "-F", "--follow"]) => {
            let bounded =
                command.wrappers.iter().any(|wrapper| wrapper == "timeout") || command.has(&["--pid"]);
            (!bounded)
                .then_some(("follows the file without end", "leave out `-f`, or put `timeout 10` before it"))
        }
        "passwd" | "chsh" | "chfn" | "visudo" | "vipw" => {
            Some(("asks for a password or opens an editor", "leave this to a person"))
        }
        "su" => Some(("asks for a password", "run the command without it, or leave it to a person")),
        "sudo" if !command.has(&["-n", "--non-interactive", "-S", "--stdin"]) => {
            Some(("may ask for a password", "use `sudo -n`, which fails instead"))
        }
        "ssh" => ssh(command),
        "sftp" | "ftp" | "telnet" => {
            (!fed && !command.has(&["-b"])).then_some(("opens a session", "use `scp` or `curl`"))
        }
        "psql" => (!fed && !command.has(&["-c", "-f", "-l", "--command", "--file", "--list"]))
            .then_some((LOOP.0, "use `psql -c 'query'`")),
        "mysql" | "mariadb" => {
            (!fed && !command.has(&["-e", "--execute"])).then_some((LOOP.0, "use `mysql -e 'query'`"))
        }
        "sqlite3" => {
            (!fed && command.operands().count() < 2).then_some((LOOP.0, "put the query after the file name"))
        }
        "redis-cli" | "mongosh" | "mongo" | "irb" | "ghci" | "iex" | "gdb" | "lldb" | "bc" | "dc" => {
            let batch = command.has(&["-batch", "--batch", "--eval", "-e"])
                || (program == "redis-cli" && command.operands().next().is_some());
            (!fed && !batch).then_some(LOOP)
        }
        "crontab" if command.has(&["-e"]) => Some(EDIT),
        // Without a prompt it reads what the loop around it is given, or nothing.
        "read" if command.has(&["-p"]) && !fed => {
            Some(("waits for a line from a terminal", "set the variable instead"))
        }
        _ => bare_interpreter(program, command, fed).then_some(LOOP),
    }
}

fn bare_interpreter(program: &str, command: &Command, fed: bool) -> bool {
    let interprets = programs::is_shell(program) || programs::inline_options(program).is_some();
    let forced = command.has(&["-i"]) && !matches!(program, "perl" | "ruby");
    let idle = command.args().iter().all(|word| {
        word.text.starts_with('-')
            && !matches!(word.text.as_str(), "-m" | "--version" | "-v" | "-e" | "-p" | "-c" | "-r")
    });
    interprets && !fed && (idle || (forced && command.operands().next().is_none()))
}

fn ssh(command: &Command) -> Option<Advice> {
    let mut operands = 0;
    let mut args = command.args().iter();
    while let Some(word) = args.next() {
        if word.text.starts_with('-') && operands == 0 {
            let valued = programs::wrapper("ssh").is_some_and(|ssh| ssh.valued.contains(&word.text.as_str()));
            if valued {
                args.next();
            }
        } else {
            operands += 1;
        }
    }
    let tunnel = command.has(&["-N", "-f", "-V", "-Q"]);
    (operands < 2 && !tunnel && !command.traits.piped)
        .then_some(("opens a session", "give the remote command, and use `-o BatchMode=yes`"))
}

fn by_identity(command: &Command) -> Option<Advice> {
    let verb = command.identity.as_deref()?;
    match verb {
        "git rebase" if command.has(&["-i", "--interactive"]) => Some((
            "opens an editor for `rebase -i`",
            "use `GIT_SEQUENCE_EDITOR=true`, `git rebase --onto`, or `git reset --soft`",
        )),
        "git commit" => commit(command),
        "git add" | "git checkout" | "git restore" | "git reset" | "git stash" | "git clean"
            if command.has(&["-p", "--patch", "-i", "--interactive"]) =>
        {
            Some(("asks about every piece", "name the files instead"))
        }
        "git tag" if command.has(&["-a", "-s"]) && !command.has(&["-m", "-F", "--message", "--file"]) => {
            Some(("opens an editor for the message", "use `-m`"))
        }
        "git merge" if command.has(&["-e", "--edit"]) => Some(("opens an editor", "use `--no-edit`")),
        "gh auth" | "npm login" | "npm init" | "docker login" => {
            let answered = command.has(&["-y", "--yes", "--with-token", "--password-stdin", "--help"])
                || command.after_subcommand().first().is_some_and(|word| word.text == "status");
            (!answered).then_some(("asks questions", "give the answers as options"))
        }
        "docker run" | "docker exec" | "podman run" | "kubectl exec" => {
            let text =
                |word: &crate::shell::Word| matches!(word.text.as_str(), "-it" | "-ti" | "-t" | "--tty");
            command.after_subcommand().iter().any(text).then_some(("asks for a terminal", "leave out `-t`"))
        }
        _ => None,
    }
}

fn commit(command: &Command) -> Option<Advice> {
    const SAYS: &[&str] = &[
        "-m",
        "--message",
        "-F",
        "--file",
        "--no-edit",
        "-C",
        "--reuse-message",
        "--fixup",
        "--squash",
        "--dry-run",
    ];
    let answered = command.has(SAYS) && !command.has(&["-e", "--edit", "-p", "--patch"]);
    (!answered).then_some(("opens an editor for the message", "use `git commit -m 'message'`"))
}
